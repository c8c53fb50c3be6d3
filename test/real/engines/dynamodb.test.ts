/** Branches of DynamoDB: what the containers of a branch's pod do with Amazon's own server and its own client. */

import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb"
import { expect, it } from "vitest"
import type { BranchDatabaseSpec } from "../../../src/domain/resources/branches/branch-database.ts"
import { describeWith } from "../../support/describe-with.ts"
import { type BranchPlace, copyFailure, fromEnv, withBranch } from "./branch-containers.ts"
import { createTable, dynamodbClient, dynamodbPath, serveDynamodbBranch, tablesOf } from "./dynamodb-server.ts"

const variable = "AWS_ENDPOINT_URL_DYNAMODB"
const place: BranchPlace = { path: dynamodbPath, env: [{ name: variable, value: "http://127.7.7.7:1" }], secrets: {} }
const spec: Partial<BranchDatabaseSpec> = {
  connectionSource: { url: fromEnv(variable) },
  dynamodbOptions: { copy: { mode: "empty", items: { users: {} } } }
}

describeWith(["DynamoDB"], "a branch of DynamoDB", () => {
  it("begins empty without a source, and shows the same tables to all regions and credentials", async () => {
    await withBranch(place, { spec }, async (serve, log) => {
      expect(log).toBe("")
      const server = await serveDynamodbBranch(serve)
      const client = dynamodbClient(server.endpoint, "eu-west-1")
      const other = dynamodbClient(server.endpoint, "us-east-1")
      try {
        expect(await tablesOf(client)).toEqual([])
        await createTable(client, "users")
        const Item = { id: { S: "ü" }, age: { N: "7" }, tags: { L: [{ S: "a" }, { NULL: true }] } }
        await client.send(new PutItemCommand({ TableName: "users", Item }))
        expect(await tablesOf(other)).toEqual(["users"])
        const read = await other.send(new GetItemCommand({ TableName: "users", Key: { id: { S: "ü" } } }))
        expect(read.Item).toEqual(Item)
      } finally {
        for (const each of [client, other]) each.destroy()
        await server.stop()
      }
    })
  })

  it("fails instead of a copy", async () => {
    const told = await copyFailure(place, { spec, change: { COPY_MODE: "all" } })
    expect(told).toContain("tables of DynamoDB cannot be copied")
  })
})
