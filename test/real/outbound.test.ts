/** mirrord's own client against a primary that one of its clusters dials. */

import { subnetOf } from "../address-plan.ts"
import { realClientCases } from "./client-cases.ts"
import { usePlayground } from "./harness.ts"

realClientCases("topology outbound", () =>
  usePlayground({ topology: "outbound", subnet: subnetOf("real client, outbound") })
)
