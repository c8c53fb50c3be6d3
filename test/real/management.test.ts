/** mirrord's own client against a primary that only manages. */

import { subnetOf } from "../address-plan.ts"
import { realClientCases } from "./client-cases.ts"
import { usePlayground } from "./harness.ts"

realClientCases("topology management", () =>
  usePlayground({ topology: "management", subnet: subnetOf("real client, management") })
)
