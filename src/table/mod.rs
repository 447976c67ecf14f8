//! Table functions, arguments and providers: from a call to a scan.
