//! The check that stands before each write is free of the allocator.

use std::sync::Arc;

use allocation_counter::measure;
use lease_core::memory::Memory;
use lease_core::{Admission, Coordinator, Gate};

#[tokio::test]
async fn a_check_allocates_nothing() {
    let leases = Coordinator::new(Arc::new(Memory::new()));
    let lease = leases.exclusive("job").acquire().await.unwrap();
    let gate = Gate::new();
    let counts = |work: &dyn Fn()| measure(work).count_total;

    assert_eq!(counts(&|| drop(Box::new(1))), 1, "the counter counts");
    assert_eq!(counts(&|| drop(lease.check().unwrap())), 0);
    let fence = lease.check().unwrap();
    assert_eq!(counts(&|| assert_eq!(gate.admit(&fence), Admission::Admitted)), 0);
    lease.release().await.unwrap();
}
