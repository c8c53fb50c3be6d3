/**
 * DynamoDB Local of this machine in the containers of a branch. It listens to all addresses, so that each server has a
 * port of its own here; apart from that port a container runs its own script.
 */

import { spawn } from "node:child_process"
import { realpathSync } from "node:fs"
import { connect } from "node:net"
import { dirname } from "node:path"
import { type Duplex, pipeline } from "node:stream"
import { isDeepStrictEqual } from "node:util"
import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb"
import { Duration, Effect, Schedule } from "effect"
import type { ContainerContext, ContainerProgram } from "../../../lab/cluster/node/container-program.ts"
import { loopbackAddresses } from "../../../lab/cluster/node/pod-addresses.ts"
import { engineImage } from "../../../lab/playground/branches/postgresql.ts"
import { enginePath, engineProgram } from "../../../lab/playground/engine-programs.ts"
import { freePort } from "../../../lab/playground/free-ports.ts"
import { dynamodb } from "../../../src/domain/branches/dialects/dynamodb.ts"
import { eventually } from "../../support/eventually.ts"
import type { Command } from "./branch-containers.ts"
import { nobody } from "./postgresql-server.ts"

export const dynamodbPath = enginePath(process.env)

/** Amazon's own client; its credentials are those of nobody. */
export const dynamodbClient = (endpoint: string, region: string): DynamoDBClient =>
  new DynamoDBClient({ endpoint, region, credentials: { accessKeyId: region.slice(0, 2), secretAccessKey: region } })

export const createTable = async (client: DynamoDBClient, table: string): Promise<void> => {
  await client.send(
    new CreateTableCommand({
      TableName: table,
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      BillingMode: "PAY_PER_REQUEST"
    })
  )
}

export const tablesOf = async (client: DynamoDBClient): Promise<ReadonlyArray<string>> =>
  (await client.send(new ListTablesCommand())).TableNames ?? []

/** The image's working directory. */
const imageFolder = (): string => dirname(realpathSync(engineProgram("DynamoDBLocal.jar", process.env) ?? ""))

/** A command of the image, with a port of this machine in place of the container's. */
const commandAt = (command: ReadonlyArray<string>, port: number): ReadonlyArray<string> => {
  const moved = command.map((part) => part.replace(`-port ${dynamodb.port}`, `-port ${port}`))
  return ["sh", "-c", 'cd "$0" && exec "$@"', imageFolder(), ...moved]
}

const isServed = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve()
    })
    socket.once("error", reject)
  })

const pass = (socket: Duplex, port: number): void => {
  const server = connect(port, "127.0.0.1")
  pipeline(socket, server, socket, () => undefined)
}

/** Opens the pod's port as soon as the server takes connections. */
const openPort = ({ listen }: ContainerContext, port: number) =>
  Effect.tryPromise(() => isServed(port)).pipe(
    Effect.retry(Schedule.spaced(Duration.millis(20))),
    Effect.andThen(listen(dynamodb.port, (socket) => pass(socket, port)))
  )

/** The image as processes of this machine. */
export const dynamodbImage: ContainerProgram = Effect.fnUntraced(function* (container: ContainerContext) {
  const port = yield* Effect.promise(freePort)
  const args = commandAt(container.args, port)
  const isServer = !isDeepStrictEqual(args, commandAt(container.args, dynamodb.port))
  if (isServer) yield* Effect.forkScoped(openPort(container, port))
  return yield* engineImage(loopbackAddresses)({ ...container, args })
})

/** Starts the serving container of a branch. */
export const serveDynamodbBranch = async ({
  command,
  env
}: Command): Promise<{ readonly endpoint: string; readonly stop: () => Promise<void> }> => {
  const port = await freePort()
  const [program = "", ...args] = commandAt(command, port)
  const child = spawn(program, args, { ...nobody, cwd: "/", env: { ...env }, stdio: ["ignore", "ignore", "pipe"] })
  let told = ""
  child.stderr.on("data", (chunk: Buffer) => void (told += chunk.toString()))
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  await eventually("the server takes connections", async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${told}`)
    await isServed(port)
  })
  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    }
  }
}
