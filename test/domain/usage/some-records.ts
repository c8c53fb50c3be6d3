/** Records for tests of use. */

import fc from "fast-check"
import type { MachineId, RecordedId, UsageRecord } from "../../../src/domain/usage/usage-record.ts"

type Given = Partial<Omit<UsageRecord, "id" | "machineId">> & { readonly id?: string; readonly machineId?: string }

export const record = ({ id = "AB", machineId = "key-1", ...given }: Given = {}): UsageRecord => ({
  kind: "exec",
  kubernetesUser: "jane",
  clientUser: "jane",
  clientHost: "laptop",
  clusters: [],
  namespace: "shop",
  target: "deployment/web",
  container: "",
  ciProvider: "",
  ciPipeline: "",
  startedAt: 0,
  stoppedAt: undefined,
  ...given,
  lastSeenAt: given.lastSeenAt ?? given.startedAt ?? 0,
  id: id as RecordedId,
  machineId: machineId as MachineId
})

/** Sessions in the order of their starts, at times up to `most`. */
export const someRecords = (most: number): fc.Arbitrary<ReadonlyArray<UsageRecord>> =>
  fc
    .array(
      fc.record({
        kind: fc.constantFrom("exec", "ci", "preview"),
        machineId: fc.constantFrom("key-1", "key-2", "key-3"),
        target: fc.constantFrom("deployment/web", "deployment/api"),
        startedAt: fc.nat(most),
        length: fc.nat(most)
      }),
      { maxLength: 30 }
    )
    .map((all) =>
      all
        .map(({ length, startedAt, ...given }, index) =>
          record({
            ...given,
            id: String(index),
            startedAt,
            stoppedAt: length % 4 === 3 ? undefined : startedAt + length
          })
        )
        .toSorted((a, b) => a.startedAt - b.startedAt)
    )
