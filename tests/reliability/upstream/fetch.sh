#!/usr/bin/env bash
# Fetches DataFusion's own sqllogictest files: the crate that ships them, from crates.io, into target/upstream.
# It is not a dependency, because it would switch on every feature of DataFusion.
set -euo pipefail
cd "$(dirname "$0")/../../.."
version=55.2.0
sum=b270cea4d8c2b2c42773e60164204386fb97d7936736e5f126ac751b86d7dabe
mkdir -p target/upstream
cd target/upstream
curl --fail --silent --show-error --location --output crate.tar.gz \
  "https://static.crates.io/crates/datafusion-sqllogictest/datafusion-sqllogictest-$version.crate"
echo "$sum  crate.tar.gz" | sha256sum --check --quiet
tar xzf crate.tar.gz
rm crate.tar.gz
echo "$PWD/datafusion-sqllogictest-$version"
