//! Says in words what happens on the way from one state to the next.

use super::actions::{Action, Choice, Fate};
use super::model::General;
use super::setting::Setting;
use super::state::{Mode, Request, State, Step};
use crate::words::{Told, name};

impl Told for General {
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
            Action::StaleRead(index) => {
                let who = self.name(index);
                match after.clients[usize::from(index)].step {
                    Step::Granting => format!("{who} reads an old copy of the anchor: free"),
                    _ => format!("{who} reads an old copy of the anchor: taken"),
                }
            }
            Action::Client(index, choice) => self.tell_client(before, index, choice, after),
            Action::GiveUp(index, fate) => {
                let Step::Sent(request) = before.clients[usize::from(index)].step else {
                    return String::new();
                };
                let became = match fate {
                    Fate::Applied => "was applied",
                    Fate::Lost => "is lost",
                    Fate::Late => "is still on its way",
                };
                format!("{} gets no answer: its {} {became}", self.name(index), noun(request))
            }
            Action::Repeat(index) => {
                format!(
                    "{}, and a repeat of that is on its way",
                    self.tell_store(before, index, after)
                )
            }
            Action::Arrive(index) => {
                let request = before.late[usize::from(index)];
                let mut copy = *before;
                let does = if self.apply(&mut copy, request) { "goes through" } else { "fails" };
                format!("the late {} arrives and {does}", self.whose(request))
            }
            Action::Lose(index) => {
                format!("the late {} is lost", self.whose(before.late[usize::from(index)]))
            }
            Action::Land(index) => {
                let write = before.writes[usize::from(index)];
                let whose = match (write.owner, write.token.writer) {
                    (u8::MAX, true) => "a writer's".to_owned(),
                    (u8::MAX, false) => "an exclusive's".to_owned(),
                    (owner, _) => format!("{}'s", self.name(owner)),
                };
                format!("{whose} write arrives at the resource")
            }
            Action::Die(index) => format!("{} dies", self.name(index)),
            Action::Tick => self.tell_tick(before, after),
        }
    }

    fn tell_tick(&self, before: &State, after: &State) -> String {
        let ended = |at: &usize| before.clients[*at].holds && !after.clients[*at].holds;
        let ended = (0..before.clients.len()).filter(ended).map(|at| self.name(at as u8));
        ended.fold("a tick passes".to_owned(), |text, who| text + " and ends " + &who + "'s belief")
    }

    fn tell_store(&self, before: &State, index: u8, after: &State) -> String {
        let who = self.name(index);
        let step = after.clients[usize::from(index)].step;
        match before.clients[usize::from(index)].step {
            Step::Sent(request) => {
                let mut copy = *before;
                let goes = self.apply(&mut copy, request);
                let text = match (request, goes) {
                    (Request::Register { .. }, _) => "inserts its record",
                    (Request::Install { .. }, true) => "installs itself",
                    (Request::Install { .. }, false) => "cannot install itself",
                    (Request::Renew { .. }, true) => "renews its record",
                    (Request::Renew { .. }, false) => "cannot renew its record",
                    (Request::Commit { .. }, true) => "commits",
                    (Request::Commit { .. }, false) => "cannot commit",
                    (Request::Withdraw { .. }, true) => "removes its record",
                    (Request::Withdraw { .. }, false) => "has no record to remove",
                    (Request::Evict { exclusive: true, .. }, true) => "clears the exclusive",
                    (Request::Evict { exclusive: true, .. }, false) => "clears nothing",
                    (Request::Evict { exclusive: false, .. }, true) => "evicts a writer",
                    (Request::Evict { exclusive: false, .. }, false) => "evicts nobody",
                };
                format!("{who} {text}")
            }
            Step::Look => match step {
                Step::Looked | Step::Sent(Request::Install { .. }) => {
                    format!("{who} sees that it may ask")
                }
                Step::Sent(_) => format!("{who} sees a stale exclusive"),
                _ => format!("{who} sees an exclusive and waits"),
            },
            Step::Check if step == Step::Granting => format!("{who} reads the anchor: free"),
            Step::Check => format!("{who} reads the anchor and may not stay"),
            Step::List => match step {
                Step::Sent(Request::Commit { .. }) => format!("{who} lists and goes on to commit"),
                Step::Sent(Request::Evict { .. }) => format!("{who} lists: a stale writer"),
                Step::Draining => format!("{who} lists: a live writer"),
                _ => format!("{who} lists and gives up"),
            },
            Step::LookUpCommit => format!("{who} looks what became of its commit"),
            Step::ReadBack => match step {
                Step::Held => format!("{who} reads its record and holds on"),
                _ => format!("{who} reads its record: lost"),
            },
            Step::Announce if step == Step::Confirm => format!("{who} announces itself"),
            Step::Announce => format!("{who} is refused at the resource"),
            Step::Confirm if step == Step::Confirmed(true) => format!("the store confirms {who}"),
            Step::Confirm => format!("the store does not confirm {who}"),
            _ => String::new(),
        }
    }

    fn tell_client(&self, before: &State, index: u8, choice: Choice, after: &State) -> String {
        let who = self.name(index);
        let now = &after.clients[usize::from(index)];
        let then = &before.clients[usize::from(index)];
        match (then.step, choice) {
            (Step::Idle, Choice::Look) => format!("{who} begins by a look"),
            (Step::Idle | Step::Looked, _) => match self.clients[usize::from(index)] {
                Mode::Writer => format!("{who} sends its registration"),
                Mode::Exclusive => format!("{who} sends its install"),
            },
            (Step::Granting, _) if now.holds => format!("{who} takes itself for granted"),
            (Step::Granting, _) => format!("{who} is answered too late and withdraws"),
            (Step::Held, Choice::Renew) => format!("{who} sends a renewal"),
            (Step::Held, Choice::Retime) => format!("{who} sends a renewal with another ttl"),
            (Step::Held, Choice::Write) => format!("{who} wants to write"),
            (Step::Held, _) => format!("{who} lets go"),
            (Step::ReadBack, _) => format!("{who} sends another renewal"),
            (Step::Draining, Choice::Leave) => format!("{who} gives up draining"),
            (Step::Draining, _) => format!("{who} goes on draining"),
            (Step::Renewed(true), _) => format!("{who} learns that it is renewed"),
            (Step::Renewed(false), _) => format!("{who} learns that it has lost"),
            (Step::Confirmed(_), _) if after.writes.len() > before.writes.len() => {
                format!("{who} sends its write")
            }
            (Step::Confirmed(_), _) if now.at_work && !then.at_work => format!("{who} is at work"),
            (Step::Confirmed(_), _) => format!("{who} sees that it does not hold"),
            _ => String::new(),
        }
    }

    fn whose(&self, request: Request) -> String {
        let owner = match request {
            Request::Register { nonce }
            | Request::Install { nonce, .. }
            | Request::Renew { nonce, .. }
            | Request::Commit { nonce }
            | Request::Withdraw { nonce, .. } => Some(nonce.owner),
            Request::Evict { .. } => None,
        };
        match owner {
            Some(owner) => format!("{} of {}", noun(request), self.name(owner)),
            None => noun(request).to_owned(),
        }
    }
}

const fn noun(request: Request) -> &'static str {
    match request {
        Request::Register { .. } => "registration",
        Request::Install { .. } => "install",
        Request::Renew { .. } => "renewal",
        Request::Commit { .. } => "commit",
        Request::Withdraw { .. } => "withdrawal",
        Request::Evict { .. } => "eviction",
    }
}
