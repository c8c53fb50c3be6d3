/**
 * Benchmarks against a real control plane: our watch cache beside client-node's informer, our controllers beside a
 * plain loop.
 */

import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { startControlPlane } from "../kubernetes/control-plane.ts"
import { find } from "../support/outside-programs.ts"
import type { CacheResult } from "./kubernetes-cache-child.ts"
import { makeSessions, sessionRef } from "./kubernetes-objects.ts"
import type { ReconcileResult } from "./kubernetes-reconcile-child.ts"
import { startReplay } from "./kubernetes-replay.ts"
import { median, spread } from "./spread.ts"

const objects = 10_000
const repetitions = 5
/**
 * Watches of all objects per repetition: at the server, which sets the pace, and at its replayed answer. The first two
 * warm up.
 */
const [rounds, replayedRounds] = [4, 12]
const reconciled = 500
const workerCounts = [1, 16]

/** A line that is rewritten on a terminal, and nothing elsewhere. */
const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}

const runChild = async <T>(file: string, args: ReadonlyArray<string>): Promise<T> => {
  const program = fileURLToPath(new URL(file, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", program, ...args])
  return JSON.parse(stdout) as T
}

/** Runs all sides so many times, in changing order, so that other load of the machine affects all sides alike. */
const inTurns = async <Side extends string, T>(
  sides: ReadonlyArray<Side>,
  what: string,
  run: (side: Side, repetition: number) => Promise<T>
): Promise<Readonly<Record<Side, ReadonlyArray<T>>>> => {
  const results = Object.fromEntries(sides.map((side) => [side, []])) as unknown as Record<Side, Array<T>>
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const side of repetition % 2 === 0 ? sides : sides.toReversed()) {
      progress(`${what}: repetition ${repetition + 1} of ${repetitions}, ${side}`)
      results[side].push(await run(side, repetition))
    }
  }
  progress("")
  return results
}

/** `ours against theirs`: both numbers, and the ratio of the medians. */
const compare = (
  what: string,
  unit: string,
  ours: ReadonlyArray<number>,
  others: ReadonlyArray<number>,
  digits = 0
): string =>
  `  ${what}: ×${(median(ours) / median(others)).toFixed(2)} (${unit}: ${spread(ours, digits)} against ` +
  `${spread(others, digits)})`

/** Throws a sentence if there is no control plane to start. */
export const kubernetes = async function* (): AsyncGenerator<string> {
  const found = find("control plane")
  if (found._tag === "Missing") throw new Error(found.sentence)
  const assets = found.as
  progress("the control plane starts")
  const plane = await startControlPlane({ name: "bench", assets })
  try {
    await plane.apply(readFileSync(new URL(`../../crds/${sessionRef.plural}.yaml`, import.meta.url), "utf8"))
    const config = new KubeConfig()
    config.loadFromFile(plane.kubeconfigPath)
    let made = 0
    const counted = (): void => {
      if (++made % 100 === 0) progress(`${made} of ${objects} objects are made`)
    }
    await Effect.runPromise(
      Effect.scoped(Effect.flatMap(makeKubeApi(config, "bench"), (api) => makeSessions(api, objects, counted)))
    )

    const measureCaches = (what: string, kubeconfigPath: string, times: number) =>
      inTurns(["ours", "theirs", "reading"], what, (side) =>
        runChild<CacheResult>("kubernetes-cache-child.ts", [side, kubeconfigPath, String(objects), String(times)])
      )
    type Caches = Awaited<ReturnType<typeof measureCaches>>
    const read = (caches: Caches, valueOf: (result: CacheResult) => number | ReadonlyArray<number>) =>
      [caches.ours.flatMap(valueOf), caches.theirs.flatMap(valueOf)] as const
    const events = function* (caches: Caches): Generator<string> {
      yield compare(
        "events per second",
        "1/s",
        ...read(caches, ({ eventMicros }) => eventMicros.map((each) => 1_000_000 / each))
      )
      yield compare("CPU per event", "µs", ...read(caches, ({ eventCpuMicros }) => eventCpuMicros), 1)
      yield `    of which, to read the bytes: ${spread(
        caches.reading.flatMap(({ eventCpuMicros }) => eventCpuMicros),
        1
      )}`
    }
    const caches = await measureCaches("caches", plane.kubeconfigPath, rounds)
    yield (
      `watch cache of ${objects} MirrordClusterSessions, ours against the informer of @kubernetes/client-node, ` +
        `${repetitions} repetitions in turns:`
    )
    yield* events(caches)
    yield compare("memory per object", "bytes", ...read(caches, ({ bytes }) => bytes))
    yield compare("first list", "ms", ...read(caches, ({ listMs }) => listMs))
    yield compare("CPU of the first list", "ms", ...read(caches, ({ listCpuMs }) => listCpuMs))
    const replay = await startReplay(config, objects)
    try {
      const replayed = await measureCaches("replayed", replay.kubeconfigPath, replayedRounds)
      yield "the same events, replayed as fast as they are read:"
      yield* events(replayed)
    } finally {
      await replay.close()
    }

    yield (
      `reconciles (GET and PATCH) of ${reconciled} of them, on our controllers against a plain loop over the same ` +
        "HTTP client:"
    )
    for (const workers of workerCounts) {
      const runs = await inTurns(["ours", "plain"], `reconciles, ${workers} at a time`, (side, repetition) =>
        runChild<ReconcileResult>("kubernetes-reconcile-child.ts", [
          side,
          plane.kubeconfigPath,
          String(reconciled),
          String(workers),
          `${side} ${workers} ${repetition}`
        ])
      )
      const bothSides = (name: keyof ReconcileResult) =>
        [runs.ours.map((result) => result[name]), runs.plain.map((result) => result[name])] as const
      yield compare(`${workers} at a time, round trips per second`, "1/s", ...bothSides("perSecond"))
      yield compare(`${workers} at a time, CPU per reconcile`, "µs", ...bothSides("cpuMicros"))
    }
  } finally {
    progress("")
    await plane.close()
  }
}
