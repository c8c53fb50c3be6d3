/** The environment variables of a container that a client may see (agent.md §5.1, §5.2). */

/**
 * Names that are never answered, even if a client selects them, because they describe the remote runtime and not the
 * application.
 */
const alwaysExcluded: ReadonlySet<string> = new Set([
  "BUNDLER_ORIG_BUNDLER_ORIG_MANPATH",
  "BUNDLER_ORIG_BUNDLER_VERSION",
  "BUNDLER_ORIG_BUNDLE_BIN_PATH",
  "BUNDLER_ORIG_BUNDLE_GEMFILE",
  "BUNDLER_ORIG_GEM_HOME",
  "BUNDLER_ORIG_MANPATH",
  "BUNDLER_ORIG_PATH",
  "BUNDLER_ORIG_RB_USER_INSTALL",
  "BUNDLER_ORIG_RUBYLIB",
  "BUNDLER_ORIG_RUBYOPT",
  "BUNDLER_VERSION",
  "BUNDLE_APP_CONFIG",
  "BUNDLE_BIN_PATH",
  "BUNDLE_FORCE_RUBY_PLATFORM",
  "BUNDLE_GEMFILE",
  "BUNDLE_GEM_PATH",
  "BUNDLE_PATH",
  "BUNDLE_WITHOUT",
  "CATALINA_HOME",
  "CLASSPATH",
  "DOTNET_EnableDiagnostics",
  "DOTNET_STARTUP_HOOKS",
  "GEM_HOME",
  "GEM_PATH",
  "GOPATH",
  "GOMODCACHE",
  "HOME",
  "HOMEPATH",
  "JAVA_EXE",
  "JAVA_HOME",
  "JAVA_TOOL_OPTIONS",
  "PATH",
  "PWD",
  "PYTHONPATH",
  "RUBYLIB",
  "RUBYOPT",
  "MIRRORD_LOG",
  "RUST_LOG",
  "_JAVA_OPTIONS"
])

/**
 * Whether the whole of `text` fits `pattern`, case-sensitive: `*` is any run of characters, `?` exactly one character.
 * Linear in practice, because only the last `*` is ever retried.
 */
export const matchesWildcard = (pattern: string, text: string): boolean => {
  const [wanted, given] = [Array.from(pattern), Array.from(text)]
  let p = 0
  let t = 0
  let star = -1
  let retry = 0
  while (t < given.length) {
    if (p < wanted.length && (wanted[p] === "?" || (wanted[p] === given[t] && wanted[p] !== "*"))) {
      p++
      t++
    } else if (wanted[p] === "*") {
      star = p++
      retry = t
    } else if (star >= 0) {
      p = star + 1
      t = ++retry
    } else {
      return false
    }
  }
  while (wanted[p] === "*") p++
  return p === wanted.length
}

const matchesAny = (patterns: ReadonlySet<string>, name: string): boolean => {
  for (const pattern of patterns) if (matchesWildcard(pattern, name)) return true
  return false
}

/**
 * The variables in the answer to a `GetEnvVarsRequest`. `exclude` and `select` are the request's sets of patterns; an
 * empty `select` means everything. Exclusion always wins.
 */
export const visibleEnvironment = (
  env: ReadonlyMap<string, string>,
  exclude: ReadonlySet<string>,
  select: ReadonlySet<string>
): ReadonlyMap<string, string> =>
  new Map(
    [...env].filter(
      ([name]) =>
        !alwaysExcluded.has(name) && !matchesAny(exclude, name) && (select.size === 0 || matchesAny(select, name))
    )
  )
