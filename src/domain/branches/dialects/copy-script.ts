/**
 * The lines that copy scripts of several engines have in common: their start, and reading the source's URL where the
 * engine's programs take none.
 *
 * Not here: what one engine does (the other files of this folder).
 */

/**
 * How long a copy may take, in milliseconds: the branch fails then. A question with a user's filter may keep the source
 * busy as long, unless the source's own limit is shorter: the end of the copying pod alone would not stop it.
 */
export const maxCopyMillis = 1_800_000

/**
 * The first lines of a copy script: `say` and `fail`, whether the source is read, and the variables `SOURCE_…` of its
 * parts. A branch that begins empty needs no source. The kubelet leaves the name of a missing variable as it is.
 */
export const scriptStart = (parts: ReadonlyArray<string>): string => `set -eu
umask 077
say() { printf '%s\\n' "$1"; }
fail() { say "$1" >&2; exit 1; }

reads_source=\${COPY_ITEMS:-0}
[ "$COPY_MODE" = empty ] || reads_source=1
for part in ${parts.join(" ")}; do
  eval "value=\\\${SOURCE_$part-}"
  case $value in
    '$(TARGET_'*')')
      [ "$reads_source" = 0 ] || fail "the target's container has no variable for the source's $part"
      unset "SOURCE_$part"
      ;;
  esac
done
`

/** The function `decode` of scripts, which decodes a part of a URL. */
export const decoding = `# Decodes a part of a URL into $text.
decode() {
  text=
  rest=$1
  while :; do
    case $rest in
      *%*) ;;
      *) text=$text$rest && return ;;
    esac
    text=$text\${rest%%%*}
    rest=\${rest#*%}
    hex=\${rest%"\${rest#??}"}
    case $hex in
      00 | [!0-9A-Fa-f]? | ?[!0-9A-Fa-f] | ?) fail "the source's URL is not percent-encoded" ;;
      ??) ;;
      *) fail "the source's URL is not percent-encoded" ;;
    esac
    sign=$(printf "\\\\$(printf %03o "0x$hex")_")
    text=$text\${sign%_}
    rest=\${rest#??}
  done
}`

/**
 * The lines that read the source from its URL or its parts into `host`, `port`, `user`, `password` and
 * `source_database`, each empty where the source has none. `schemes`: pattern of `case` for the start of a URL.
 * `usual`: the start that the sentence about other URLs names. `others`: lines of `case` for texts that are read first,
 * in another way. The locale must be C, since the text is read byte by byte.
 */
export const sourceParts = (schemes: string, usual: string, others = ""): string => `${decoding}

# The source, by its parts or by its URL. A branch that begins empty takes its database's name alone.
unread() { [ "$reads_source" = 0 ] || fail "$1"; }
host=\${SOURCE_HOST-}
port=\${SOURCE_PORT-}
user=\${SOURCE_USER-}
password=\${SOURCE_PASSWORD-}
source_database=\${SOURCE_DATABASE-}
read_url() {
  url=\${SOURCE_URL#*://}
  url=\${url%%#*}
  url=\${url%%\\?*}
  place=\${url%%/*}
  path=\${url#"$place"}
  login=
  case $place in
    *@*)
      login=\${place%@*}
      place=\${place##*@}
      ;;
  esac
  case $path in *@*) unread "the source's URL has an @ behind its host: it must be written as %40" ;; esac
  case $login in
    *:*)
      decode "\${login#*:}"
      password=$text
      ;;
  esac
  decode "\${login%%:*}"
  user=$text
  decode "\${path#/}"
  source_database=$text
  case $place in
    *,*) unread "the source's URL names several hosts: it must name one" ;;
    "["*"]":*) port=\${place##*:} ;;
    "["*"]") ;;
    *:*) port=\${place##*:} ;;
  esac
  case $place in
    "["*) host=\${place#"["} && host=\${host%%"]"*} ;;
    *)
      decode "\${place%%:*}"
      host=$text
      ;;
  esac
}
case \${SOURCE_URL-} in
  "") ;;
${others}  ${schemes}) read_url ;;
  *) unread "the source's URL has no form that can be read: it must begin with ${usual}" ;;
esac
[ -n "$host" ] || unread "the source's address has no host"
`
