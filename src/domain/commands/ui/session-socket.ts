/**
 * Sockets of mirrord's sessions on this machine, `~/.mirrord/sessions/ID.sock`: which file is one, and when a file is
 * what a crashed session has left.
 *
 * Not here: the sockets themselves (app/commands/ui/local-sessions.ts).
 */

const ending = ".sock"

/** The longest path of a Unix socket on every system, in bytes, without the zero at its end. */
const maxPath = 103

/** The session's id in the name of a file; `undefined` if it is no session's. */
export const sessionOfFile = (file: string): string | undefined =>
  file.endsWith(ending) && file.length > ending.length ? file.slice(0, -ending.length) : undefined

/** The name of a session's file. */
export const fileOfSession = (session: string): string => `${session}${ending}`

/** Why no socket can stand for a session; `undefined` if one can. `folder`: path of the folder of sockets. */
export const socketProblem = (folder: string, session: string): string | undefined => {
  if (session === "" || session === "." || session === ".." || /[/\\\0]/u.test(session))
    return `The session id ${JSON.stringify(session)} is no name of a file; give one without slashes.`
  const length = new TextEncoder().encode(`${folder}/${fileOfSession(session)}`).length
  return length > maxPath
    ? `The path of the socket has ${length} bytes, and systems take at most ${maxPath}; use a shorter folder.`
    : undefined
}

/** Why a socket gave no session. */
export type SocketFailure =
  /** No program listens: its program ended without removing it. */
  | "refused"
  /** The file is gone. */
  | "absent"
  /** It answers, but late, in parts, with an error or with something else. */
  | "unreadable"

/** The failure for a code of the system's error; `undefined` if there was none. */
export const socketFailure = (code: string | undefined): SocketFailure => {
  if (code === "ECONNREFUSED") return "refused"
  return code === "ENOENT" ? "absent" : "unreadable"
}

/** A program that has just made its socket listens a moment later, ms. */
const graceOfNew = 1_000

/**
 * Whether the file of a socket is to be removed. Only one at which no program listens is; a session that is merely slow
 * or of another version keeps its file, since without it no program would find the session again. `age`: ms since the
 * file was made.
 */
export const isLeftBehind = (failure: SocketFailure, age: number): boolean => failure === "refused" && age >= graceOfNew
