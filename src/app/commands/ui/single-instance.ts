/**
 * The one aggregator of a person on this machine, by the files in `~/.mirrord` that mirrord 3.250.0 has for its own:
 * `ui.lock` with an exclusive lock as long as it runs, `token`, and `server_pid`. So `mirrord ui` finds ours, and
 * `braid ui` finds mirrord's and leaves its files alone.
 *
 * Not here: what the server does (serve-ui.ts).
 */

import { spawnSync } from "node:child_process"
import { closeSync, constants, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted, type Scope } from "effect"
import { asNumber, asString, asStrings, parseObject } from "../../../domain/json.ts"

/** The folder of mirrord's files of a person. */
export const mirrordFolder = (): string => join(homedir(), ".mirrord")

const files = { lock: "ui.lock", token: "token", pid: "server_pid", own: "braid-ui.json" } as const

/** BSD's open flag for a lock as flock(2) gives it; Linux has none, and a program for it. */
const lockFlag = 0x20

/** A file with its lock; "held" if another process has the lock. */
type Lock = { readonly fd: number } | "held" | "impossible"

const lockByFlag = (path: string): Lock => {
  try {
    return { fd: openSync(path, constants.O_CREAT | constants.O_RDWR | constants.O_NONBLOCK | lockFlag, 0o644) }
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EAGAIN" ? "held" : "impossible"
  }
}

/** The lock belongs to the open file, which the program shares with this process, and outlives the program. */
const lockByProgram = (path: string): Lock => {
  const fd = openSync(path, constants.O_CREAT | constants.O_RDWR, 0o644)
  const { status } = spawnSync("flock", ["-n", "-x", "3"], { stdio: ["ignore", "ignore", "ignore", fd] })
  if (status === 0) return { fd }
  closeSync(fd)
  return status === 1 ? "held" : "impossible"
}

const lock = (folder: string): Lock => {
  const path = join(folder, files.lock)
  try {
    mkdirSync(folder, { recursive: true })
    if (process.platform === "darwin") return lockByFlag(path)
    return process.platform === "linux" ? lockByProgram(path) : "impossible"
  } catch {
    return "impossible"
  }
}

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return undefined
  }
}

/** Writes a file that only this person can read, whatever stood there. */
const write = (path: string, text: string): void => {
  rmSync(path, { force: true })
  writeFileSync(path, text, { mode: 0o600 })
}

const removeAll = (folder: string): void => {
  for (const file of [files.token, files.pid, files.own]) rmSync(join(folder, file), { force: true })
}

/** The aggregator that runs. */
export interface Running {
  readonly pid: number
  /** Link of its page; `undefined` if it is mirrord's own. */
  readonly link: string | undefined
  /** The flags that it was started with; empty if it is mirrord's own. */
  readonly flags: ReadonlyArray<string>
}

const running = (folder: string): Running | undefined => {
  const pid = Number(read(join(folder, files.pid)))
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined
  const own = parseObject(read(join(folder, files.own)) ?? "")
  const isOwn = asNumber(own["pid"]) === pid
  return { pid, link: isOwn ? asString(own["link"]) : undefined, flags: isOwn ? asStrings(own["flags"]) : [] }
}

export type Claim =
  /** This process is the aggregator until the scope ends. `publish`: tells others its link and flags. */
  | { readonly _tag: "Claimed"; readonly publish: (link: string, flags: ReadonlyArray<string>) => void }
  | { readonly _tag: "Held"; readonly by: Running | undefined }
  /** This machine cannot lock a file, or write its own beside it. */
  | { readonly _tag: "Impossible" }

/** Claims the place. Under the lock all files are this process's, also those that a killed one has left. */
export const claim = (folder: string, token: Redacted.Redacted): Effect.Effect<Claim, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const taken = lock(folder)
        if (typeof taken === "string") return taken
        try {
          write(join(folder, files.token), Redacted.value(token))
          write(join(folder, files.pid), `${process.pid}`)
          rmSync(join(folder, files.own), { force: true })
          return taken
        } catch {
          closeSync(taken.fd)
          return "impossible"
        }
      }),
      (taken) =>
        Effect.sync(() => {
          if (typeof taken === "string") return
          removeAll(folder)
          closeSync(taken.fd)
        })
    ),
    (taken): Claim => {
      if (taken === "held") return { _tag: "Held", by: running(folder) }
      if (taken === "impossible") return { _tag: "Impossible" }
      return {
        _tag: "Claimed",
        publish: (link, flags) => write(join(folder, files.own), JSON.stringify({ pid: process.pid, link, flags }))
      }
    }
  )

/**
 * The aggregator that holds the place; `undefined` if none does, and then files that a killed one has left are removed.
 * `impossible`: this machine cannot lock a file.
 */
export const holder = (folder: string): Running | "unknown" | "impossible" | undefined => {
  const taken = lock(folder)
  if (taken === "held") return running(folder) ?? "unknown"
  if (taken === "impossible") return taken
  removeAll(folder)
  closeSync(taken.fd)
  return undefined
}
