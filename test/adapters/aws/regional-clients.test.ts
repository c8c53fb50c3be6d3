import { expect, it } from "vitest"
import { RegionalClients } from "../../../src/adapters/aws/regional-clients.ts"

it("keeps the clients of the regions that were used last, whatever senders of messages call a region", async () => {
  const made: Array<string | undefined> = []
  const clients = new RegionalClients((region) => {
    made.push(region)
    return Promise.resolve({ destroy: () => {} })
  })
  for (let region = 0; region < 1_000; region++) {
    await clients.get("eu-north-1")
    await clients.get(`zz-aaa-${region}`)
  }
  expect(made).toHaveLength(1_001)
  await clients.get("zz-aaa-999")
  await clients.get("zz-aaa-1")
  expect(made.slice(1_001)).toEqual(["zz-aaa-1"])
})
