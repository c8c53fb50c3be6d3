/** `GET pods/<pod>/log`, with the sentences of a real server. */

import type { ObjectReader } from "../store/object-reader.ts"
import { pods } from "../store/resource-refs.ts"
import { find, uidOf } from "../store/store-access.ts"
import type { LogReadOptions } from "./container-log.ts"
import type { ContainerRecord } from "./pod-status.ts"
import type { PodWorker } from "./pod-worker.ts"

export type PodLogs =
  | { readonly _tag: "Lines"; readonly lines: AsyncIterable<string> }
  | { readonly _tag: "NotFound"; readonly message: string }
  | { readonly _tag: "BadRequest"; readonly message: string }

/** The logs that a client asks for. */
export interface WantedLogs {
  readonly namespace: string
  readonly pod: string
  /** It may be missing if the pod has a single container. */
  readonly container: string | undefined
  readonly options?: LogReadOptions & { readonly previous?: boolean }
}

const badRequest = (message: string): PodLogs => ({ _tag: "BadRequest", message })

/** The container whose logs are wanted, `undefined` before the pod has any; or why there is none. */
const choose = (
  { container, pod }: WantedLogs,
  worker: PodWorker | undefined
): { readonly record: ContainerRecord | undefined } | { readonly refused: string } => {
  const records = worker?.containers ?? []
  const names = records.map((record) => record.spec.name)
  const wanted = container ?? (names.length === 1 ? names[0] : undefined)
  if (wanted === undefined && names.length > 1) {
    return {
      refused: `a container name must be specified for pod ${pod}, choose one of: [${names.join(" ")}]`
    }
  }
  const record = [...records, ...(worker?.ephemeralContainers ?? [])].find(({ spec }) => spec.name === wanted)
  return record === undefined && names.length > 0
    ? { refused: `container ${wanted ?? ""} is not valid for pod ${pod}` }
    : { record }
}

export const podLogs = (store: ObjectReader, workers: ReadonlyMap<string, PodWorker>, wanted: WantedLogs): PodLogs => {
  const { namespace, options = {}, pod: name } = wanted
  const pod = find(store, pods, namespace, name)
  if (pod === undefined) return { _tag: "NotFound", message: `pods "${name}" not found` }
  const chosen = choose(wanted, workers.get(uidOf(pod)))
  if ("refused" in chosen) return badRequest(chosen.refused)
  const { record } = chosen
  const container = record?.spec.name ?? wanted.container ?? ""
  const log = options.previous === true ? record?.previousLog : record?.log
  if (log !== undefined) return { _tag: "Lines", lines: log.read(options) }
  if (options.previous === true) {
    return badRequest(`previous terminated container "${container}" in pod "${name}" not found`)
  }
  const reason = record?.state._tag === "Waiting" ? record.state.reason : "ContainerCreating"
  return badRequest(`container "${container}" in pod "${name}" is waiting to start: ${reason}`)
}
