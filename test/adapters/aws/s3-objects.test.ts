/** Objects of S3 by the SDK, against a stand-in. */

import { createServer } from "node:http"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { s3Objects } from "../../../src/adapters/aws/s3-objects.ts"
import type { StoredObject } from "../../../src/domain/queues/s3-event.ts"
import { StoredObjects } from "../../../src/ports/stored-objects.ts"
import { listenLocally } from "../../support/listen-locally.ts"

const secret = "s3cr3t"
const keys = { AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: "eu-north-1" }
const photo: StoredObject = { bucket: "photos", key: "red flower/é.jpg", region: "eu-west-1", version: undefined }

/** The requests to the stand-in, and the status with which it answers. */
const heard: Array<string> = []
let status = 200
const server = createServer((request, response) => {
  const { authorization = "" } = request.headers
  const region = /Credential=[^/]+\/\d+\/([^/]+)\//u.exec(authorization)?.[1]
  heard.push(`${request.method} ${request.url} ${region}`)
  response.writeHead(status, { "x-amz-meta-Team": "blue", "x-amz-meta-size": "7" }).end()
})

beforeEach(async () => {
  const port = await listenLocally(server)
  heard.splice(0)
  status = 200
  for (const [name, value] of Object.entries({ ...keys, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}` }))
    vi.stubEnv(name, value)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const metadata = (object: StoredObject) =>
  Effect.runPromise(
    Effect.result(Effect.flatMap(StoredObjects, (objects) => objects.metadata(object))).pipe(Effect.provide(s3Objects))
  )

describe("an object of S3", () => {
  it("has its metadata, which is asked for in its bucket's region", async () => {
    expect(await metadata(photo)).toMatchObject({ success: { team: "blue", size: "7" } })
    expect(heard).toEqual(["HEAD /photos/red%20flower/%C3%A9.jpg eu-west-1"])
  })

  it("is looked at in the version that the message is about", async () => {
    await metadata({ ...photo, key: "a", version: "7" })
    expect(heard).toEqual(["HEAD /photos/a?versionId=7 eu-west-1"])
  })

  it.each([
    [403, "give the operator's role s3:GetObject"],
    [404, "S3 answers 404"],
    [503, "S3 answers 503"]
  ])("has none where S3 answers %d, asked once, with the cure and without keys", async (answer, sentence) => {
    status = answer
    const found = await metadata(photo)
    expect(found).toMatchObject({ failure: { bucket: "photos", detail: expect.stringContaining(sentence) } })
    expect(JSON.stringify(found)).not.toMatch(new RegExp(`${secret}|flower`, "u"))
    expect(heard).toHaveLength(1)
  })

  it("has none without an identity, and the sentence says what to do", async () => {
    for (const name of Object.keys(keys)) vi.stubEnv(name, "")
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true")
    expect(await metadata(photo)).toMatchObject({
      failure: { detail: expect.stringMatching(/identity|credentials/iu) }
    })
    expect(heard).toEqual([])
  })
})
