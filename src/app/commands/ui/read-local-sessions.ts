/**
 * Asks the sockets of mirrord's sessions on this machine, `~/.mirrord/sessions/ID.sock`, what they are (`GET /info` of
 * mirrord 3.250.0). Sockets are only read: a file that a crashed session has left stays for mirrord to remove.
 *
 * Not here: the meaning of the answers (domain/commands/ui/local-session.ts).
 */

import { readdir } from "node:fs/promises"
import http from "node:http"
import { homedir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { type LocalSession, readLocalSession } from "../../../domain/commands/ui/local-session.ts"

/** How long a session has for its answer, ms. */
const patience = 1_000
/** Longest answer that is read, in bytes: with a whole configuration in it. */
const maxAnswer = 4 << 20
/** Most sockets that are asked. */
const maxSockets = 200

/** The answer of one socket; `undefined` without one that can be read. */
const ask = (socketPath: string): Effect.Effect<LocalSession | undefined> =>
  Effect.callback<LocalSession | undefined>((resume) => {
    const none = (): void => resume(Effect.succeed(undefined))
    const request = http.get({ socketPath, path: "/info", headers: { host: "localhost" }, agent: false }, (answer) => {
      const chunks: Array<Buffer> = []
      let length = 0
      answer.on("data", (chunk: Buffer) => {
        length += chunk.length
        if (length > maxAnswer) request.destroy()
        else chunks.push(chunk)
      })
      answer.once("error", none)
      answer.once("end", () => {
        try {
          resume(Effect.succeed(readLocalSession(JSON.parse(Buffer.concat(chunks).toString("utf8")))))
        } catch {
          none()
        }
      })
    })
    request.once("error", none)
    request.once("close", none)
    return Effect.sync(() => request.destroy())
  }).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(undefined) }))

/** The folder of the sockets of mirrord's sessions. */
export const sessionsFolder = (): string => join(homedir(), ".mirrord", "sessions")

/** The sessions of this machine, as far as they answer. */
export const readLocalSessions = Effect.fnUntraced(function* (
  folder: string
): Effect.fn.Return<ReadonlyArray<LocalSession>> {
  const files = yield* Effect.promise(() => readdir(folder).catch(() => []))
  const sockets = files.filter((file) => file.endsWith(".sock")).slice(0, maxSockets)
  const answers = yield* Effect.forEach(sockets, (file) => ask(join(folder, file)), { concurrency: "unbounded" })
  return answers.flatMap((answer) => answer ?? [])
})
