/**
 * Patterns with `*` and `?`, as policies have them for targets and for names of variables.
 *
 * Not here: regular expressions (regex.ts).
 */

/**
 * Whether the whole text matches: `?` is any one character, `*` any number of them. Case counts. The time is bounded by
 * the product of both lengths.
 */
export const matchesGlob = (pattern: string, text: string): boolean => {
  let at = 0
  let star: { readonly pattern: number; text: number } | undefined
  let next = 0
  while (next < text.length) {
    const wanted = pattern[at]
    if (wanted === "*") {
      star = { pattern: ++at, text: next }
    } else if (wanted === "?" || wanted === text[next]) {
      at++
      next++
    } else if (star === undefined) {
      return false
    } else {
      // The last star takes one character more.
      at = star.pattern
      next = ++star.text
    }
  }
  while (pattern[at] === "*") at++
  return at === pattern.length
}
