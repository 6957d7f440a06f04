//! What the files of an election say, whichever of them are there.

use std::time::SystemTime;

use rstest::rstest;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

const A: Nonce = Nonce::from_bytes([0xaa; 16]);
const B: Nonce = Nonce::from_bytes([0xbb; 16]);
const X7: &str = "x-0000000000000007";

fn meta(file: &str, seconds: u64) -> ObjectMeta {
    ObjectMeta {
        location: Path::from(file),
        last_modified: (SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).into(),
        size: 1,
        e_tag: None,
        version: None,
    }
}

/// Of these files, as `(file, second)`.
fn ballot(files: &[(String, u64)]) -> Ballot {
    let mut ballot = Ballot::default();
    for (file, second) in files {
        ballot.add(role(file).map(|(_, role)| role), meta(file, *second));
    }
    ballot
}

fn file(role: Role, second: u64) -> (String, u64) {
    (format!("{X7}{role}"), second)
}

fn candidate(nonce: Nonce, second: u64) -> (String, u64) {
    file(Role::Candidate(nonce), second)
}

fn agreed(nonce: Nonce) -> (String, u64) {
    file(Role::Agreed(0, nonce), 9)
}

fn chosen(nonce: Nonce) -> (String, u64) {
    file(Role::Elected(nonce), 9)
}

fn won(nonce: Nonce, second: u64) -> ObjectMeta {
    ObjectMeta { e_tag: Some(nonce.to_string()), ..meta(&candidate(nonce, 0).0, second) }
}

/// Case 24 on such a store: a request that comes a second time, late, moves nothing.
#[test]
fn a_candidate_that_is_written_again_stays_what_it_was() {
    let (path, nonce) = (Path::from("genesis"), timed(StoreTime::of_micros(5_000_001)));
    let at = |second| elected(&path, nonce, &meta("genesis", second));
    assert_eq!(at(5), at(900));
    assert_eq!(StoreTime::of(&at(5)).micros(), 5_000_001);
}

#[rstest]
#[case::nobody(&[], Standing::Absent)]
#[case::alone(&[candidate(B, 5)], Standing::Open(B))]
#[case::earlier(&[candidate(A, 6), candidate(B, 5)], Standing::Open(B))]
#[case::in_one_step(&[candidate(A, 5), candidate(B, 5)], Standing::Open(A))]
#[case::wanted(&[candidate(A, 5), file(Role::Wanted(0, A), 6)], Standing::Open(A))]
// Whether it was disputed is for those to see who voted.
#[case::agreed(&[candidate(A, 5), candidate(B, 5), agreed(B)], Standing::Open(A))]
#[case::chosen(&[candidate(A, 5), candidate(B, 5), chosen(B)], Standing::Decided(won(B, 5)))]
#[case::written_over(
    &[candidate(A, 5), chosen(A), (X7.to_owned(), 8)], Standing::Decided(meta(X7, 8))
)]
#[case::left_over(&[chosen(A)], Standing::Absent)]
#[case::late_for_what_is_removed(&[chosen(A), candidate(B, 5)], Standing::Absent)]
fn the_files_tell_who_it_is(#[case] files: &[(String, u64)], #[case] expected: Standing) {
    assert_eq!(ballot(files).standing(&Path::from(X7), SECOND), expected);
}

/// A candidate for where a name's epochs start that comes long after its time, when the name was
/// erased since: the epochs would start where they did before.
#[test]
fn a_start_that_comes_late_counts_for_nothing() {
    let path = Path::from("genesis");
    let nonce = timed(StoreTime::of_micros(5_000_000));
    let file = format!("genesis{}", Role::Candidate(nonce));
    let at = |second| {
        let mut ballot = Ballot::default();
        ballot.add(Some(Role::Candidate(nonce)), meta(&file, second));
        ballot.standing(&path, SECOND)
    };
    assert_eq!(at(6), Standing::Open(nonce));
    assert_eq!(at(7), Standing::Absent);
}

/// Also where somebody votes for another one.
#[test]
fn a_start_that_comes_late_is_not_one_of_several() {
    let path = Path::from("genesis");
    let [old, new] = [5, 900].map(|second| timed(StoreTime::of_micros(second * 1_000_000)));
    let mut ballot = Ballot::default();
    // It came before the new one, and long after its own time.
    for (role, second) in
        [(Role::Candidate(old), 899), (Role::Candidate(new), 900), (Role::Wanted(0, new), 901)]
    {
        ballot.add(Some(role), meta(&format!("genesis{role}"), second));
    }
    assert_eq!(ballot.standing(&path, SECOND), Standing::Open(new));
    // One that was voted for counts also when it is written once more.
    ballot.add(Some(Role::Candidate(new)), meta("genesis", 990));
    assert_eq!(ballot.standing(&path, SECOND), Standing::Open(new));
}

#[rstest]
#[case::cast_a_moment_ago(20, false)]
#[case::cast_long_ago(71, true)]
#[case::by_a_clock_that_was_set_back(100, true)]
fn votes_for_what_is_gone_are_left_over_in_time(#[case] age: u64, #[case] expected: bool) {
    let cast = if age == 100 { 1000 } else { 500 };
    let left = ballot(&[file(Role::Elected(A), cast)]);
    assert!(left.has_votes());
    let now = StoreTime::of_micros((500 + age) * 1_000_000);
    assert_eq!(left.is_left_over(now, SECOND * 60), expected);
}

/// However far a removal got, the file is what it was, or gone.
#[test]
fn a_removal_that_ends_early_changes_nothing() {
    let files = [candidate(A, 5), candidate(B, 4), agreed(A), chosen(A), (X7.to_owned(), 8)];
    let (whole, path) = (ballot(&files), Path::from(X7));
    let order = whole.in_order(&path);
    let order: Vec<String> = order.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(order.len(), files.len());
    for removed in 0..=order.len() {
        let is_left = |(file, _): &&(String, u64)| !order[..removed].contains(file);
        let left: Vec<_> = files.iter().filter(is_left).cloned().collect();
        let standing = ballot(&left).standing(&path, SECOND);
        let same = standing == whole.standing(&path, SECOND) || standing == Standing::Absent;
        assert!(same, "{standing:?} after {removed}");
    }
}

#[rstest]
#[case("genesis.caaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some(("genesis", Role::Candidate(A))))]
#[case(
    "x-0000000000000007.granted.d0fbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    Some(("x-0000000000000007.granted", Role::Agreed(15, B)))
)]
#[case("leasehold.json.w00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some((MARKER, Role::Wanted(0, A))))]
#[case("genesis.x00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some(("genesis", Role::Disputed(0, A))))]
#[case("genesis.eaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", Some(("genesis", Role::Elected(A))))]
#[case("x-0000000000000007.kil.caaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None)]
#[case("x-0000000000000007.cAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", None)]
#[case("x-0000000000000007.w+faaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None)]
#[case("x-0000000000000007.wé", None)]
#[case("x-0000000000000007.c", None)]
#[case("x-0000000000000007.granted", None)]
#[case("readme.txt", None)]
fn files_of_an_election_are_told_by_their_names(
    #[case] file: &str,
    #[case] expected: Option<(&str, Role)>,
) {
    assert_eq!(role(file), expected);
}
