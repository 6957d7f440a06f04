//! Leases as files.
