# Takes the values of the source out of the lines that a copy says. Of a variable SOURCE_… every word is hidden
# wherever it stands, as are words that hold one: a tool may quote a value in another way, or cut it off. Of a URL that
# all tools read alike, host and database may be told. Of a variable TARGET_…, which no tool reads by itself, the value
# is hidden as a whole, unless it may be an ordinary word, and so is the password in a URL. BRANCH_PASSWORD is hidden,
# too.
#
# Variables: SOURCE_…, TARGET_… and BRANCH_PASSWORD, as shared/start.sh has them.

# Whether a text may be an ordinary word of a sentence, which is hidden only where it stands alone.
function isUsual(text) {
  return length(text) < 4 || (length(text) < 9 && text ~ /^[A-Za-z]*$/) || (length(text) < 6 && text ~ /^[0-9]*$/)
}
function remember(text) {
  if (isUsual(text)) { whole[text]; whole[tolower(text)] }
  else texts[++count] = tolower(text)
}

# A long word is known by its pieces.
function hideWord(word,   low, size, from) {
  if (isUsual(word)) { whole[word]; whole[tolower(word)]; return }
  low = tolower(word)
  size = length(low)
  if (size < 9) { piece[low]; return }
  for (from = 1; from + 7 <= size; from += 8) piece[substr(low, from, 8)]
  piece[substr(low, size - 7)]
}
function hideWords(text,   size, from, sign, word) {
  size = length(text)
  for (from = 1; from <= size + 1; from++) {
    sign = substr(text, from, 1)
    if (sign == "" || sign in parting) { if (word != "") hideWord(word); word = "" }
    else word = word sign
  }
}
function decoded(text,   result, from, hex, code) {
  while ((from = index(text, "%")) > 0) {
    hex = tolower(substr(text, from + 1, 2))
    code = 16 * index("123456789abcdef", substr(hex, 1, 1)) + index("123456789abcdef", substr(hex, 2, 1))
    if (hex ~ /^[0-9a-f][0-9a-f]$/ && code > 0) {
      result = result substr(text, 1, from - 1) sprintf("%c", code)
      text = substr(text, from + 3)
    } else {
      result = result substr(text, 1, from)
      text = substr(text, from + 1)
    }
  }
  return result text
}
function hide(text) {
  remember(text)
  remember(decoded(text))
  hideWords(text)
  hideWords(decoded(text))
}

# Whether every tool takes the same part of the URL for the login.
function isPlain(url,   login, host, pair) {
  if (url ~ /^https?:/ || !sub(/^[A-Za-z][-A-Za-z0-9+.]*:\/\//, "", url)) return 0
  gsub(/%[0-9A-Fa-f][0-9A-Fa-f]/, "x", url)
  if (tolower(url) ~ /[?&][^=&]*(pass|pwd|user|secret|token|key|cred)[^=&]*=/) return 0
  login = "([-A-Za-z0-9._~!$'()*+,;=:]*@)?"
  host = "([-A-Za-z0-9._]*|\\[[0-9A-Fa-f:.]*\\])(:[0-9]*)?"
  pair = "[A-Za-z0-9_.]+=[^&=@#?]*"
  return url ~ ("^" login host "(," host ")*(/[-A-Za-z0-9._~]*)?([?]" pair "(&" pair ")*)?(#[-A-Za-z0-9._]*)?$")
}
function loginOf(url) {
  if (!sub(/^([A-Za-z][-A-Za-z0-9+.]*:)+\/\//, "", url) || !sub(/@[^@]*$/, "", url)) return ""
  return url
}
function hidePassword(login) {
  remember(substr(login, index(login, ":") + 1))
  remember(decoded(substr(login, index(login, ":") + 1)))
}
function hideUrl(url,   login, parts, number) {
  remember(url)
  if (!isPlain(url)) {
    sub(/^([A-Za-z][-A-Za-z0-9+.]*:)+\/\//, "", url)
    hide(url)
    return
  }
  login = loginOf(url)
  hidePassword(login)
  hide(login)
  if (index(url, "#") > 0) { hide(substr(url, index(url, "#") + 1)); sub(/#.*/, "", url) }
  if (!sub(/^[^?]*[?]/, "", url)) return
  number = split(url, parts, "&")
  while (number > 0) { sub(/^[^=]*=/, "", parts[number]); hide(parts[number--]) }
}
function hideLines(name, value,   lines, number) {
  number = split(value, lines, "\n")
  for (; number > 0; number--) {
    if (name == "SOURCE_URL") hideUrl(lines[number])
    else if (name ~ /^SOURCE_/) hide(lines[number])
    else {
      if (lines[number] !~ /^([a-z]*|[0-9]?[0-9]?[0-9]?[0-9]?[0-9]?)$/) remember(lines[number])
      hidePassword(loginOf(lines[number]))
    }
  }
}

function isHidden(word,   size, long, from) {
  if (word in whole) return 1
  word = tolower(word)
  long = length(word)
  for (size = 4; size <= 8; size++)
    for (from = 1; from + size - 1 <= long; from++)
      if (substr(word, from, size) in piece) return 1
  return 0
}
function withoutText(line, text,   at) {
  while ((at = index(tolower(line), text)) > 0)
    line = substr(line, 1, at - 1) mark substr(line, at + length(text))
  return line
}
function told(line,   low, number, size, from, sign, word, result) {
  low = tolower(line)
  for (number = 1; number <= count; number++)
    if (index(low, texts[number]) > 0) line = withoutText(line, texts[number])
  size = length(line)
  for (from = 1; from <= size + 1; from++) {
    sign = substr(line, from, 1)
    if (sign == "" || sign in parting) {
      result = result (word != "" && isHidden(word) ? mark : word) sign
      word = ""
    } else word = word sign
  }
  while (sub(mark "[^A-Za-z0-9 ]*" mark, mark, result));
  gsub(mark, "…", result)
  return result
}

BEGIN {
  mark = sprintf("%c", 1)
  for (number = 1; number < 128; number++) {
    sign = sprintf("%c", number)
    if (sign !~ /[A-Za-z0-9]/) parting[sign]
  }
  for (name in ENVIRON) {
    if (name !~ /^(SOURCE|TARGET)_/ && name != "BRANCH_PASSWORD") continue
    # The user's own settings, and the name of a variable that the target does not have, are no values of the source.
    if (name != "SOURCE_OPTIONS" && ENVIRON[name] !~ /^[$][(]TARGET_[^()]*[)]$/) hideLines(name, ENVIRON[name])
  }
}
# Of a line without end the beginning says enough; the word that is cut off may be a part of a secret.
length($0) > 4096 { $0 = substr($0, 1, 4096); sub(/[^ ]*$/, "…") }
{ print told($0); fflush() }
