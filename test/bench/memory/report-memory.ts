/**
 * Loaded into an operator before its own program (`--import`): on SIGUSR2 it collects garbage and writes to the file in
 * `BENCH_MEMORY` what memory, sockets, timers and holdings are left, as JSON. With `BENCH_SNAPSHOT` it writes a heap
 * snapshot beside it.
 */

import { renameSync, writeFileSync } from "node:fs"
import { writeHeapSnapshot } from "node:v8"
import { Effect } from "effect"
import { CurrentHoldings } from "../../../src/app/kernel/holdings.ts"

const file = process.env["BENCH_MEMORY"] ?? ""
const isSnapshot = process.env["BENCH_SNAPSHOT"] !== undefined
/** Finalizers let more go, which only the next collection finds. */
const rounds = 4

const report = (round: number): void => {
  globalThis.gc?.()
  if (round < rounds) return void setTimeout(report, 100, round + 1)
  if (isSnapshot) writeHeapSnapshot(`${file}-${Date.now()}.heapsnapshot`)
  const resources = process.getActiveResourcesInfo()
  const countOf = (kind: RegExp): number => resources.filter((resource) => kind.test(resource)).length
  const counted = { sockets: countOf(/^(?:TCP|TLS)\w*Wrap$/u), timers: countOf(/^Timeout$/u) }
  const holdings = Object.fromEntries(Effect.runSync(CurrentHoldings).now())
  writeFileSync(`${file}.new`, JSON.stringify({ ...process.memoryUsage(), ...counted, holdings }))
  renameSync(`${file}.new`, file)
}

process.on("SIGUSR2", () => report(1))
