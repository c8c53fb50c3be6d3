/**
 * Copies of targets in this cluster, as requests see them: those of users here, and those that primaries order. The
 * pods and workloads behind them are kept by copied-pods.ts and scaled-down-workloads.ts.
 */

import { Clock, Effect } from "effect"
import { copyTarget } from "../../domain/copies/copy-info.ts"
import { copyOrder } from "../../domain/copies/copy-order.ts"
import { at } from "../../domain/json.ts"
import type { CopyTarget } from "../../domain/resources/copy-target.ts"
import { formatTargetName } from "../../domain/targets/target-path.ts"
import { mayDriveSessions } from "../api/access-review.ts"
import type { CopySelection, CopyTargetRequest } from "../api/operator-facade.ts"
import { type ApiError, forbidden, notFound } from "../api/status.ts"
import type { FurtherStatus } from "../services/capability.ts"
import type { CopyConnect, ServedCopies } from "../services/copy-targets.ts"
import type { CopiedPods, Copy } from "./copied-pods.ts"
import { createCopy, type CreateCopyOptions } from "./create-copy.ts"
import { splitsOfSession } from "./split-of-copy.ts"

const infoOf =
  (copies: CopiedPods, now: number) =>
  (copy: Copy): CopyTarget =>
    copyTarget(copy.pod.metadata, copy.record, copies.state(copy, now), now)

export const statusOf = (copies: CopiedPods, now: number): NonNullable<FurtherStatus["copy_targets"]> =>
  copies.all().map((copy) => ({ pod_name: copy.pod.metadata.name, copy_target: infoOf(copies, now)(copy) }))

export const noSuchCopy = (namespace: string, name: string): ApiError =>
  notFound(
    `There is no copy target ${name} in namespace ${namespace}. A copy ends some seconds after its last session; ` +
      "start the program again to get a new one."
  )

/** A copy that a client asks for, which counts as a use of it. */
const asked = (copies: CopiedPods, namespace: string, name: string) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const copy = copies.find(namespace, name)
    if (copy === undefined) return Effect.fail(noSuchCopy(namespace, name))
    copies.use(copy, now)
    return Effect.succeed({ copy, now })
  })

const isSelected = ({ pod: { metadata }, record }: Copy, { name, namespace, primary }: CopySelection): boolean =>
  (namespace === undefined || metadata.namespace === namespace) &&
  (name === undefined || metadata.name === name) &&
  (primary === undefined || record.primary === primary)

const connected = (
  copies: CopiedPods,
  { name, namespace, owner: { userId } }: CopyConnect
): ReturnType<ServedCopies["connect"]> =>
  Effect.gen(function* () {
    const { copy } = yield* asked(copies, namespace, name)
    const { container, owner, replaces, spec } = copy.record
    if (owner.userId !== userId)
      return yield* forbidden(
        `The copy target ${name} belongs to another user; start the command again to get a copy of your own.`
      )
    const target = formatTargetName({ _tag: "Workload", kind: "pod", name, container })
    const splits = splitsOfSession(spec, container)
    return { target, scaledown: replaces !== undefined, splits, leftOut: new Map() }
  })

/** A copy that a primary orders: only a caller that may drive sessions here may name another user as its owner. */
const ordered = Effect.fnUntraced(function* (
  options: CreateCopyOptions,
  request: CopyTargetRequest
): Effect.fn.Return<CopyTarget, ApiError> {
  const order = copyOrder(at(request.body, "metadata", "annotations"))
  if (order === undefined || !(yield* mayDriveSessions(options.awaited, request.caller)))
    return yield* forbidden(
      "A copy of a target belongs to the user of a certificate (header x-client-der). Without one only the " +
        "operator of a primary cluster orders copies: one that may create mirrordclustersessions here."
    )
  return yield* createCopy(options, request, order.owner, order)
})

/** `awake`: the copies when they have been read; `optionsOf`: how copies are made then. */
export const copiesHere = (
  awake: Effect.Effect<CopiedPods, ApiError>,
  optionsOf: (copies: CopiedPods) => CreateCopyOptions
): ServedCopies => ({
  create: (request, owner) => Effect.flatMap(awake, (copies) => createCopy(optionsOf(copies), request, owner)),
  createOrdered: (request) => Effect.flatMap(awake, (copies) => ordered(optionsOf(copies), request)),
  list: Effect.fnUntraced(function* (selection) {
    const copies = yield* awake
    const now = yield* Clock.currentTimeMillis
    const wanted = copies.all().filter((copy) => isSelected(copy, selection))
    // A primary asks for one copy again and again while a client waits for it.
    if (selection.name !== undefined) for (const copy of wanted) copies.use(copy, now)
    return wanted.map(infoOf(copies, now))
  }),
  // The client asks again and again while it waits, and asks no more when it has gone.
  get: Effect.fnUntraced(function* (namespace, name) {
    const copies = yield* awake
    const { copy, now } = yield* asked(copies, namespace, name)
    return infoOf(copies, now)(copy)
  }),
  connect: (session) => Effect.flatMap(awake, (copies) => connected(copies, session))
})
