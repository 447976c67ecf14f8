//! SQL files that become table functions with named parameters.
