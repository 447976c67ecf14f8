//! Has the crate built anew when a file appears in `sql/`: the folder is part of the program.

fn main() {
    println!("cargo:rerun-if-changed=sql");
}
