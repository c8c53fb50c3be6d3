/** The forms of messages by the client's announced version (wire.md §4.4). */

import { describe, expect, it } from "vitest"
import {
  canMirrorRequests,
  newConnection,
  stolenRequestForm
} from "../../../../lab/agent/incoming/incoming-messages.ts"

describe("the table of wire.md §4.4", () => {
  it.each([
    ["1.29.0", "ChunkedV2", "ChunkedV2", true, "NewConnectionV2"],
    ["1.19.4", "ChunkedV2", "ChunkedV2", true, "NewConnectionV2"],
    ["1.19.3", "ChunkedV2", undefined, false, "NewConnectionV1"],
    ["1.19.0", "ChunkedV2", undefined, false, "NewConnectionV1"],
    ["1.18.9", "ChunkedV1", undefined, false, "NewConnectionV1"],
    ["1.7.0", "ChunkedV1", undefined, false, "NewConnectionV1"],
    ["1.6.9", "Framed", undefined, false, "NewConnectionV1"],
    ["1.3.0", "Framed", undefined, false, "NewConnectionV1"],
    ["1.2.2", "Full", undefined, false, "NewConnectionV1"],
    ["1.30.0-rc.1", "Full", undefined, false, "NewConnectionV1"]
  ])("%s", (version, filtered, unfiltered, mirrored, connection) => {
    const address = { ip: "10.0.0.1", port: 80 }
    expect(stolenRequestForm(version, true, false)).toBe(filtered)
    expect(stolenRequestForm(version, false, false)).toBe(unfiltered)
    expect(canMirrorRequests(version)).toBe(mirrored)
    expect(newConnection(version, 0n, { source: address, destination: address })._tag).toBe(connection)
  })

  it("upgrades need 1.5.0", () => {
    expect(stolenRequestForm("1.4.9", true, true)).toBeUndefined()
    expect(stolenRequestForm("1.5.0", true, true)).toBe("Framed")
  })
})
