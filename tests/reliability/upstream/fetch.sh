#!/usr/bin/env bash
# Fetches DataFusion's own sqllogictest files into target/upstream: the crate that ships them, as cargo fetches any
# other. It is not a dependency of ours, because it would switch on every feature of DataFusion; nothing is built.
set -euo pipefail
cd "$(dirname "$0")/../../.."
version=55.2.0
name=datafusion-sqllogictest-$version
target=$PWD/target/upstream
if [ -d "$target/$name/test_files" ]; then
  echo "$target/$name"
  exit
fi
mkdir -p "$target/wanted"
cd "$target/wanted"
cat >Cargo.toml <<EOF
[package]
name = "wanted"
version = "0.0.0"
edition = "2024"

[lib]
path = "lib.rs"

[dependencies]
datafusion-sqllogictest = { version = "=$version", default-features = false }

[workspace]
EOF
touch lib.rs
cargo fetch --quiet
from=$(cargo metadata --offline --format-version 1 | tr ',' '\n' | sed -n "s|^\"manifest_path\":\"\(.*/$name\)/Cargo.toml\".*|\1|p")
cp -r "$from" "$target/"
echo "$target/$name"
