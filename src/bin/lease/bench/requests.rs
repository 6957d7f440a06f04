//! How many requests each operation makes, by the page that the tests of each store compare with.

/// Its table tells the steps by rows and the stores by columns.
const PAGE: &str = include_str!("../../../../docs/COSTS.md");

/// The column of each kind of store.
const COLUMNS: [(&str, &str); 3] = [("mongo", "MongoDB"), ("nats", "NATS"), ("objstore", "bucket")];

/// What a step makes on a store of this kind; nothing where nothing is sent.
pub(super) fn of(step: &str, kind: &str) -> Option<u64> {
    let (_, store) = COLUMNS.iter().find(|(of, _)| *of == kind)?;
    let mut rows = PAGE.lines().filter(|line| line.starts_with("| "));
    let column = cells(rows.next()?).position(|title| title == *store)?;
    let row = rows.find(|row| cells(row).next() == Some(step))?;
    cells(row).nth(column)?.parse().ok()
}

fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim_matches('|').split('|').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::super::OPERATIONS;
    use super::*;

    #[test]
    fn each_operation_has_its_row_for_each_store() {
        for (operation, step) in OPERATIONS {
            for (kind, _) in COLUMNS {
                assert!(of(step, kind).is_some(), "{operation} on {kind}");
            }
            assert_eq!(of(step, "memory"), None);
        }
        assert_eq!(of("acquire writer, again", "objstore"), Some(3));
    }
}
