//! Says in words what happens on the way from one state to the next.

use super::actions::{Action, Choice, Fate};
use super::model::FileForm;
use super::setting::Setting;
use super::state::{Key, Mark, Request, State, Step, Then};
use crate::words::{Told, name};

impl Told for FileForm {
    fn tell(&self, before: &State, action: Action, after: &State) -> String {
        self.setting.tell(before, action, after)
    }
}

impl Setting {
    fn name(&self, index: u8) -> String {
        name(self.clients, index)
    }

    fn tell(&self, before: &State, action: Action, after: &State) -> String {
        match action {
            Action::Store(index) => self.tell_store(before, index, after),
            Action::Client(index, choice) => self.tell_client(before, index, choice, after),
            Action::GiveUp(index, fate) => {
                let Step::Sent(request, _) = before.clients[usize::from(index)].step else {
                    return String::new();
                };
                let became = match fate {
                    Fate::Applied => "was applied",
                    Fate::Lost => "is lost",
                    Fate::Late => "is still on its way",
                };
                format!("{} gets no answer: its {} {became}", self.name(index), self.noun(request))
            }
            Action::Arrive(index) => {
                let request = before.late[usize::from(index)];
                format!("the late {} arrives", self.noun(request))
            }
            Action::Lose(index) => {
                format!("the late {} is lost", self.noun(before.late[usize::from(index)]))
            }
            Action::CollectClaim(at) => {
                format!("x-{} is collected", before.claims[usize::from(at)].n)
            }
            Action::CollectShare(at) => {
                let owner = self.name(before.shares[usize::from(at)].nonce.owner);
                format!("{owner}'s end mark is collected")
            }
            Action::Die(index) => format!("{} dies", self.name(index)),
            Action::Tick => {
                let ended = |at: &usize| before.clients[*at].holds && !after.clients[*at].holds;
                let ended = (0..before.clients.len()).filter(ended).map(|at| self.name(at as u8));
                ended.fold("a tick passes".to_owned(), |text, who| {
                    text + " and ends " + &who + "'s belief"
                })
            }
        }
    }

    fn tell_store(&self, before: &State, index: u8, after: &State) -> String {
        let who = self.name(index);
        let step = after.clients[usize::from(index)].step;
        match before.clients[usize::from(index)].step {
            Step::Sent(request, then) => {
                let mut copy = *before;
                let goes = self.apply(&mut copy, request);
                match (request, then, goes) {
                    (Request::AtOnce(key), _, true) => {
                        format!("{who} puts {}, granted by being there", self.file(key))
                    }
                    (Request::AtOnce(key), _, false) => format!("{who} finds {}", self.file(key)),
                    (Request::Open(n), _, true) => format!("{who} opens the name by x-{n}"),
                    (Request::Open(n), _, false) => format!("{who} finds x-{n}"),
                    (Request::LetGo(key), ..) => {
                        format!("{who} releases {} as granted", self.file(key))
                    }
                    (Request::Create(key), _, true) => format!("{who} puts {}", self.file(key)),
                    (Request::Create(key), _, false) => format!("{who} finds {}", self.file(key)),
                    (Request::Beat(key), ..) => format!("{who} overwrites {}", self.file(key)),
                    (Request::Mark(n, Mark::Granted), _, true) => {
                        format!("{who} creates x-{n}.granted")
                    }
                    (Request::Mark(n, Mark::Granted), _, false) => {
                        format!("{who} finds that x-{n}'s mark is void")
                    }
                    (Request::Mark(n, Mark::Void), ..) => format!("{who} seals x-{n} as void"),
                    (Request::Release(key), ..) => format!("{who} releases {}", self.file(key)),
                    (Request::Kill(key), ..) => format!("{who} puts {}.kil", self.file(key)),
                    (Request::Delete(_), Then::Out, _) => format!("{who} deletes its file"),
                    (Request::Delete(_), ..) => format!("{who} deletes the writer's file"),
                }
            }
            Step::Look => match step {
                Step::Looked => format!("{who} lists: nothing is in the way"),
                Step::Sent(..) => format!("{who} lists: a stale exclusive"),
                _ => format!("{who} lists: an exclusive, and waits"),
            },
            Step::Check if step == Step::Granting => format!("{who} lists: it was the first"),
            Step::Check if matches!(step, Step::Sent(Request::Open(_), _)) => {
                format!("{who} lists: the highest claim was granted")
            }
            Step::Check => format!("{who} lists and may not stay"),
            Step::List => match step {
                Step::Sent(Request::Mark(_, Mark::Granted), _) => {
                    format!("{who} lists and goes on to its mark")
                }
                Step::Sent(Request::Kill(_), _) => format!("{who} lists: a stale writer"),
                Step::Draining => format!("{who} lists: a live writer"),
                Step::Granting => format!("{who} lists: no writer"),
                _ => format!("{who} lists and gives up"),
            },
            Step::LookUpMark => format!("{who} looks what its mark says"),
            Step::Last if step == Step::Granting => format!("{who} lists once more"),
            Step::Last => format!("{who} lists once more and gives up"),
            Step::BeatCheck if step == Step::Checked(true) => format!("{who} lists: it counts"),
            Step::BeatCheck => format!("{who} lists: it does not count"),
            Step::CheckFirst => format!("{who} lists before its heartbeat"),
            _ => String::new(),
        }
    }

    fn tell_client(&self, before: &State, index: u8, choice: Choice, after: &State) -> String {
        let who = self.name(index);
        let now = &after.clients[usize::from(index)];
        match (before.clients[usize::from(index)].step, choice) {
            (Step::Idle, Choice::Look) => format!("{who} begins by a look"),
            (Step::Idle | Step::Looked, _) => format!("{who} sends its claim"),
            (Step::Granting, _) if now.holds => format!("{who} takes itself for granted"),
            (Step::Granting, _) => format!("{who} is answered too late and withdraws"),
            (Step::Held, Choice::Renew) => format!("{who} goes to refresh"),
            (Step::Held, _) => format!("{who} lets go"),
            (Step::Draining, Choice::Leave) => format!("{who} gives up draining"),
            (Step::Draining, _) => format!("{who} goes on draining"),
            (Step::Checked(_), _) if now.holds => format!("{who} holds on"),
            (Step::Checked(_), _) => format!("{who} has lost"),
            _ => String::new(),
        }
    }

    fn file(&self, key: Key) -> String {
        match key {
            Key::Exclusive { n, .. } => format!("x-{n}"),
            Key::Writer(nonce) if usize::from(nonce.owner) < self.clients.len() => {
                format!("s-{}", self.name(nonce.owner))
            }
            Key::Writer(_) => "a left s".to_owned(),
        }
    }

    fn noun(&self, request: Request) -> String {
        match request {
            Request::Create(key) | Request::AtOnce(key) => {
                format!("create of {}", self.file(key))
            }
            Request::Open(n) => format!("create of x-{n} as void"),
            Request::Beat(key) => format!("heartbeat of {}", self.file(key)),
            Request::Mark(n, Mark::Granted) => format!("create of x-{n}.granted"),
            Request::Mark(n, Mark::Void) => format!("create of x-{n}'s void mark"),
            Request::Release(key) => format!("{}.rel", self.file(key)),
            Request::LetGo(key) => format!("{}.fin", self.file(key)),
            Request::Kill(key) => format!("{}.kil", self.file(key)),
            Request::Delete(nonce) => format!("deletion of {}", self.file(Key::Writer(nonce))),
        }
    }
}
