/**
 * Values of HTTP headers as text. Go writes the bytes of a text as they are, which are UTF-8 for every name that came
 * in JSON; Node reads each byte as one character (Latin-1).
 */

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const lenient = new TextDecoder("utf-8", { ignoreBOM: true })

const bytesOf = (value: string): Uint8Array => Uint8Array.from(value, (char) => char.charCodeAt(0))
/** Nearly every value is ASCII. */
const isAscii = (value: string): boolean => /^[\0-\x7f]*$/.test(value)

/** The text of a value of which every character is a byte; `undefined` if these are not UTF-8. */
export const headerText = (value: string): string | undefined => {
  if (isAscii(value)) return value
  try {
    return strict.decode(bytesOf(value))
  } catch {
    return undefined
  }
}

/** The same for a value that is only shown to people: bytes that are not UTF-8 are replaced. */
export const shownHeaderText = (value: string): string => (isAscii(value) ? value : lenient.decode(bytesOf(value)))

/** The value of a header for a text: of its UTF-8, each byte as one character. */
export const headerBytes = (text: string): string =>
  isAscii(text) ? text : String.fromCharCode(...new TextEncoder().encode(text))
