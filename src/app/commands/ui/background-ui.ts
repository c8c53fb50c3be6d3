/**
 * `braid ui start` and `braid ui stop`: the page and its API in a process of their own, which goes on when the terminal
 * is closed.
 *
 * Not here: what that process does (ui-command.ts), and by which files it is found (single-instance.ts).
 */

import { spawn } from "node:child_process"
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import { asString, asStrings, isObject } from "../../../domain/json.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import { tellUnanswered } from "../overview/tell.ts"
import { openBrowser } from "./open-browser.ts"
import { holder, mirrordFolder, type Running } from "./single-instance.ts"

/** How long an aggregator that is stopped may take, in looks of 100 ms, until it is killed. */
const looks = 50
/** How long a process in the background may take until it serves, ms. */
const startWithin = 30_000

/** The variable that says that a process was started in the background. */
const background = "BRAID_UI_BACKGROUND"

/** The words of the process in the background, once it serves. */
interface Started {
  readonly link: string
  readonly notes: ReadonlyArray<string>
}

/** The flags of this `braid ui`, each with its value, without `--no-browser`. */
export const ownFlags = (): ReadonlyArray<string> =>
  process.argv
    .slice(process.argv.indexOf("ui") + 1)
    .filter((word) => word !== "--no-browser")
    .reduce<ReadonlyArray<string>>(
      (flags, word) => (word.startsWith("-") ? [...flags, word] : [...flags.slice(0, -1), `${flags.at(-1)}=${word}`]),
      []
    )

/** Tells the process that has started this one in the background; false if none has. */
export const tellStarter = (started: Started): boolean => {
  if (process.env[background] === undefined || process.send === undefined) return false
  process.send(started, () => process.disconnect())
  return true
}

const logFile = (): string => join(mirrordFolder(), "braid-ui.log")

/** Starts `braid ui` with these arguments; fails if it ends before it serves. */
const spawnUi = (args: ReadonlyArray<string>): Effect.Effect<Started & { readonly pid: number }, string> =>
  Effect.callback<Started & { readonly pid: number }, string>((resume) => {
    mkdirSync(mirrordFolder(), { recursive: true })
    const log = openSync(logFile(), "w", 0o600)
    const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", "ui", ...args, "--no-browser"], {
      detached: true,
      stdio: ["ignore", log, log, "ipc"],
      env: { ...process.env, [background]: "1" }
    })
    closeSync(log)
    child.once("error", ({ message }) => resume(Effect.fail(message)))
    child.once("exit", () => resume(Effect.fail("it has ended")))
    child.once("message", (message) => {
      child.disconnect()
      child.unref()
      const told = isObject(message) ? message : {}
      resume(
        Effect.succeed({ pid: child.pid ?? 0, link: asString(told["link"]) ?? "", notes: asStrings(told["notes"]) })
      )
    })
    return Effect.sync(() => void child.kill())
  }).pipe(
    Effect.timeoutOrElse({
      duration: startWithin,
      orElse: () => Effect.fail(`it does not serve within ${startWithin / 1_000} s`)
    })
  )

const say = (lines: ReadonlyArray<string>): void => {
  for (const line of lines) console.log(line)
}

/** The sentence about a page in the background that is not to be: nothing could end it. */
const noPlace = (found: Running | "unknown" | "impossible"): Unanswered =>
  found === "impossible"
    ? {
        message: "~/.mirrord/ui.lock cannot be locked, by which braid ui stop finds a page in the background.",
        fix: "Run braid ui without start. It takes macOS, or Linux with the program flock."
      }
    : {
        message: `The running aggregator${found === "unknown" ? "" : `, process ${found.pid},`} is mirrord's own.`,
        fix: "mirrord ui stop ends it. braid ui without start goes beside it."
      }

const tellFailure = (problem: Unanswered): number => {
  tellUnanswered(problem)
  return 1
}

/** Gives the link of the page that runs, if it runs as it is asked for. */
const tellRunning = ({ flags, link = "", pid }: Running, args: ReadonlyArray<string>): number => {
  if (!args.every((flag) => flags.includes(flag)))
    return tellFailure({
      message: `braid ui runs already, as process ${pid}, with ${flags.length === 0 ? "no flags" : flags.join(" ")}.`,
      fix: "braid ui stop ends it, so that it can be started otherwise. Without flags braid ui start gives its link."
    })
  say([link, `braid ui runs already, as process ${pid}. braid ui stop ends it.`])
  return 0
}

/** Starts the page in the background, or says where it runs. `args`: the flags for it. */
export const runUiStart = (args: ReadonlyArray<string>, noBrowser: boolean): Effect.Effect<number> =>
  Effect.gen(function* () {
    const found = holder(mirrordFolder())
    if (typeof found === "object" && found.link !== undefined) return tellRunning(found, args)
    if (found !== undefined) return tellFailure(noPlace(found))
    const { link, notes, pid } = yield* spawnUi(args)
    say([link, ...notes, `braid ui runs as process ${pid}. braid ui stop ends it; keep the link to yourself.`])
    if (!noBrowser) yield* openBrowser(link)
    return 0
  }).pipe(
    Effect.catch((problem) =>
      Effect.sync(() => {
        const said = existsSync(logFile()) ? readFileSync(logFile(), "utf8").trim() : ""
        if (said === "")
          return tellFailure({ message: `braid ui does not start: ${problem}.`, fix: "Run it without start." })
        console.error(said)
        return 1
      })
    )
  )

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended by itself.
  }
}

const end = ({ pid }: Running): Effect.Effect<void> =>
  Effect.sync(() => signal(pid, "SIGTERM")).pipe(
    Effect.andThen(
      Effect.sync(() => holder(mirrordFolder())).pipe(
        Effect.filterOrFail((found) => found === undefined),
        Effect.retry({ schedule: Schedule.spaced("100 millis"), times: looks })
      )
    ),
    Effect.catch(() => Effect.sync(() => signal(pid, "SIGKILL"))),
    Effect.asVoid
  )

/** Ends the page and API that hold the place of this person; not mirrord's own. */
export const runUiStop: Effect.Effect<number> = Effect.gen(function* () {
  const found = holder(mirrordFolder())
  if (found === undefined) {
    say(["braid ui does not run."])
    return 0
  }
  if (typeof found === "string" || found.link === undefined) return tellFailure(noPlace(found))
  yield* end(found)
  say([`braid ui, process ${found.pid}, is ended.`])
  return 0
})
