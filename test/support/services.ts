import { Context, Effect } from "effect"
import { ChangeFeed, Changes } from "../../src/app/kernel/change-feed.ts"
import { Events, makeEventRecorder } from "../../src/app/kernel/event-recorder.ts"
import { Capabilities } from "../../src/app/services/capability.ts"
import { OwnCluster } from "../../src/app/services/own-cluster.ts"
import { operatorNamespace, defaultLimits } from "./fleet.ts"

/** The common services of an operator, for a capability that is tested alone. `own`: what matters there. */
export const servicesOf = Effect.fnUntraced(function* (
  own: Pick<OwnCluster["Service"], "api"> & Partial<OwnCluster["Service"]>
) {
  const { bounds, protectedNamespaces } = defaultLimits
  return Context.make(OwnCluster, {
    namespace: operatorNamespace,
    fleet: undefined,
    bounds,
    protectedNamespaces,
    ...own
  }).pipe(
    Context.add(Capabilities, []),
    Context.add(Changes, new ChangeFeed()),
    Context.add(Events, yield* makeEventRecorder(own.api))
  )
})
