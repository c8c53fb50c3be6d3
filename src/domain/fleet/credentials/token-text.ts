/**
 * Whether a token can travel in a header: it has printable ASCII alone. With any other character no request could be
 * sent, and no error would say why.
 */

/** A clause about the first character that no token has, without the token; undefined for a token without any. */
export const unusableCharacter = (token: string): string | undefined => {
  const at = token.search(/[^!-~]/u)
  return at === -1
    ? undefined
    : `character ${at + 1} of ${token.length} is a blank, a line break or another character that no token has`
}
