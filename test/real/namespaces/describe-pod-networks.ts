import { type Binaries, type Binary, describeReal } from "../harness.ts"

/** A suite with programs of mirrord's own, whose pods have network namespaces. */
export const describePodNetworks = <const Needed extends Binary>(
  name: string,
  needed: ReadonlyArray<Needed>,
  body: (binaries: Binaries<Needed>) => void
): void => describeReal(name, needed, body, { also: ["pod networks"] })
