/**
 * An API server as a client finds it whose operator knows no kind of branches but the older ones: the operator's object
 * lacks the feature of BranchDatabase, and everything else passes. Clients take the older kinds then.
 */

import { type ClientRelay, startClientRelay } from "../support/client-relay.ts"

const operatorPath = "/apis/operator.metalbear.co/v1/mirrordoperators/operator"
const feature = "UnifiedBranchDbCrd"

const withoutFeature = (body: string): string => {
  const object = JSON.parse(body) as { readonly spec?: { readonly supported_features?: ReadonlyArray<string> } }
  const features = object.spec?.supported_features ?? []
  if (!features.includes(feature)) throw new Error(`the operator does not advertise ${feature}`)
  const supported_features = features.filter((name) => name !== feature)
  return JSON.stringify({ ...object, spec: { ...object.spec, supported_features } })
}

/** `path`: where the kubeconfig of the same user is written. */
export const startOlderApi = (kubeconfig: string, path: string): Promise<ClientRelay> =>
  startClientRelay(kubeconfig, path, { path: operatorPath, of: withoutFeature })
