/** The command with which a member that has joined before gets another token. */

/**
 * The command, for a sentence. `name`: of the cluster, or a word in its place. The address of the cell is left to the
 * reader: no operator knows under which one members reach it.
 */
export const renewCommand = (name: string): string =>
  `\`braid join ${name} --renew --cell HOST:PORT --apply\` (HOST:PORT: where members reach the primary's cell)`
