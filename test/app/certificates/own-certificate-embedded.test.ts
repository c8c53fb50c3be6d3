/**
 * The suite of the operator's own certificate behind the embedded cluster; test/kubernetes runs it behind real API
 * servers.
 */

import { describe } from "vitest"
import { startEmbedded } from "./embedded-aggregation.ts"
import { ownCertificateSuite } from "./own-certificate-suite.ts"

describe("the operator's own certificate, behind the embedded cluster", () => {
  ownCertificateSuite(startEmbedded)
})
