/** Benchmark of branches in a fleet: the time of a status from the default cluster to the primary, in virtual time. */

import { branchStatusLags, quantile } from "../simulation/branch-status-lags.ts"

export function* branchStatus(): Iterable<string> {
  for (const [network, oneWay] of [
    ["usual network", undefined],
    ["100 ms each way", 100]
  ] as const) {
    const lags = branchStatusLags("bench", oneWay)
    const [half, most] = [quantile(lags, 0.5), quantile(lags, 0.99)]
    yield `status of a branch, default → primary, ${network}: p50 ${half} ms, p99 ${most} ms (${lags.length} statuses)`
  }
}
