//! x
use protocol_model::files::*;
use protocol_model::general::Mode;
use protocol_model::check;
use protocol_model::rules::Rule::{self,*};
const W: Mode = Mode::Writer;
const X: Mode = Mode::Exclusive;
fn main(){
    let u = |s: Setting| Setting{unclear:None,..s};
    let l = |s: Setting| Setting{unclear:None,late:1,..s};
    let wx = Setting::new("WX", &[W,X]); let xx = Setting::new("XX", &[X,X]);
    let wwx = Setting::new("WWX", &[W,W,X]); let wxx = Setting::new("WXX", &[W,X,X]);
    let gc = |s| Setting{collects:true,ttl:1,..s};
    let sent = |s| Setting{deadline:Deadline::Sent,..s};
    let one = |s| Setting{unclear:Some(1),late:1,..s};
    let gc2 = |s| Setting{collects:true,..s};
    let settings: Vec<(Option<Rule>, Setting)> = vec![(Some(R10),sent(wx)),(Some(R11),sent(wx)),(Some(F1),sent(wx)),(Some(F1),sent(xx)),(Some(F2),sent(wx)),(Some(F2),sent(xx)),(None,sent(wx)),(None,sent(xx)),(Some(F8),one(wwx)),(Some(F9),one(xx)),(None,one(xx)),(None,one(wx)),(Some(F4),gc2(sent(wx))),(None,gc(one(wx)))];
    let only: Option<String> = std::env::args().nth(1);
    if only.as_deref() == Some("wxx") {
        let o = check::run(FileForm::new(wxx), 200_000_000);
        println!("WXX {} {}", o.states, o.complete);
        return;
    }
    for (r,mut s) in settings {
        if only.as_ref().is_some_and(|o| *o != format!("{r:?}")) { continue }
        if let Some(r) = r { s.rules = s.rules.without(r); }
        let t = std::time::Instant::now();
        let o = check::run(FileForm::new(s), 40_000_000);
        println!("{r:?} {} {:?} states {} complete {} fell {:?} {:?}", s.name, (s.unclear,s.deadline,s.collects,s.ttl), o.states, o.complete, o.fell.as_ref().map(|f| (f.property, f.trace.len()-1)), t.elapsed());
        if only.is_some() {if let Some(f) = o.fell { for (s,a) in f.trace { println!("   {a:?}   {:?} x {:?} w {:?} late {:?}", s.clients.iter().map(|c| (c.step,c.n,c.rest)).collect::<Vec<_>>(), s.claims, s.shares, s.late); } }}
    }
}
