/** mirrord's own client against a primary that is its own default cluster. */

import { subnetOf } from "../address-plan.ts"
import { realClientCases } from "./client-cases.ts"
import { usePlayground } from "./harness.ts"

realClientCases("topology primary-default", () =>
  usePlayground({ topology: "primary-default", subnet: subnetOf("real client, primary-default") })
)
