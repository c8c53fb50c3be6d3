/**
 * Values of HTTP headers as Go has them: the bytes of a text, whatever they are. Node has a character for each byte.
 * Bytes that are not UTF-8 become lone surrogates here, so that none is lost on the way through the API server.
 */

import { headerText } from "../../../src/domain/fleet/credentials/header-text.ts"

const surrogates = 0xdc00
const isEscaped = (text: string): boolean => /^[\0-\x7f\udc80-\udcff]*$/.test(text)

/** The text of a header's value as Node has it. */
export const textOfHeader = (value: string): string =>
  headerText(value) ?? value.replace(/[\x80-\xff]/g, (byte) => String.fromCharCode(surrogates + byte.charCodeAt(0)))

/** A text as Node wants it in a header. */
export const headerOfText = (text: string): string =>
  isEscaped(text)
    ? text.replace(/[\udc80-\udcff]/g, (char) => String.fromCharCode(char.charCodeAt(0) - surrogates))
    : Buffer.from(text).toString("latin1")

/** The end of a header's name for a key: what no token may hold is percent-encoded (k8s.io/client-go, transport). */
export const headerKey = (key: string): string =>
  Array.from(Buffer.from(key), (byte) => {
    const char = String.fromCharCode(byte)
    return /[\w!#$&'*+.^`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }).join("")
