/**
 * The people and controllers that write what a primary finds members by, and the credentials for them: kubeconfigs,
 * Cluster API's objects, ClusterProfiles, client certificates. They put other credentials in the place of those that
 * come to their end, as cert-manager does.
 *
 * Not here: Secrets with tokens (token-secrets.ts), and credentials that the operator makes (credential-makers.ts).
 */

import { Effect, Result } from "effect"
import type { FileReader } from "../../../src/app/fleet/kubeconfig-files.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterApiClusters, clusterApiKey, clusterApiSecret } from "../../../src/domain/fleet/cluster-api.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { clusterProfiles } from "../../../src/domain/fleet/cluster-profile.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { kubeconfigKey, kubeconfigLabel } from "../../../src/domain/fleet/provided-clusters.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { ResourceRef } from "../../../src/ports/kube-api.ts"
import type { MemoryObjects } from "../../memory/memory-objects.ts"
import type { AccountTokens } from "./account-tokens.ts"
import {
  clustersNamespace,
  contextsFile,
  isMade,
  type MemberPlan,
  type MemberPlans,
  pluginName,
  providerOf
} from "./member-plan.ts"

/** The part of their life after which others take the place of credentials. */
const replacedAt = 2 / 3

/** A user of a kubeconfig, or the content of a Secret for a client certificate. */
type Credentials = Readonly<Record<string, string>>

export interface MemberAuthorsOptions {
  /** The objects of the primary's cluster. */
  readonly objects: MemoryObjects
  /** The operator's. */
  readonly namespace: string
  readonly plans: MemberPlans
  readonly tokens: (member: string) => AccountTokens
  readonly now: () => number
  readonly after: (ms: number, run: () => void) => void
}

interface Member {
  readonly plan: MemberPlan
  readonly tokens: AccountTokens
  credentials: Credentials
  isProvided: boolean
  /** Credentials or a kubeconfig that cannot be used are written for it. */
  isSpoilt: boolean
}

/** A collection of a namespace. */
interface Shelf {
  readonly ref: ResourceRef
  readonly namespace: string
}

export class MemberAuthors {
  readonly #options: MemberAuthorsOptions
  readonly #members: ReadonlyMap<string, Member>
  /** Files by their paths. */
  readonly #files = new Map<string, string>()
  #isFileSpoilt = false

  constructor(options: MemberAuthorsOptions) {
    this.#options = options
    const members = Object.entries(options.plans).map(([name, plan]): [string, Member] => [
      name,
      { plan, tokens: options.tokens(name), credentials: {}, isProvided: true, isSpoilt: false }
    ])
    this.#members = new Map(members)
    for (const [name, member] of this.#members) if (!isMade(member.plan)) this.#keepFresh(name, member)
    for (const [name, { plan }] of this.#members) if (isMade(plan)) this.#write(name)
  }

  /** Whether everything that they have written can be used. A member that they have taken away is no fault. */
  get isWell(): boolean {
    return !this.#isFileSpoilt && [...this.#members.values()].every(({ isSpoilt }) => !isSpoilt)
  }

  /** Whether the credentials of a member are written by them. */
  writes(member: string): boolean {
    const plan = this.#members.get(member)?.plan
    return plan !== undefined && !isMade(plan)
  }

  /** Whether a primary reports the end of their credentials, as it does not know that they replace them. */
  get areEndsTold(): boolean {
    return [...this.#members.values()].some(({ plan }) => !isMade(plan))
  }

  /** How many files and directories a primary reads again and again. */
  get filesRead(): number {
    const providers = new Set([...this.#members.values()].map(({ plan }) => providerOf(plan)))
    return ["kubeconfigFile" as const, "kubeconfigDirectory" as const].filter((one) => providers.has(one)).length
  }

  /** Whether a member is found, and not configured. */
  isFound(member: string): boolean {
    return providerOf(this.#members.get(member)?.plan) !== undefined
  }

  /** Whether a provider can find a member now, wrong as its kubeconfig may be. */
  isProvided(member: string): boolean {
    return this.isFound(member) && this.#members.get(member)?.isProvided === true
  }

  heal(): void {
    this.#isFileSpoilt = false
    for (const [name, member] of this.#members) {
      member.isSpoilt = false
      this.#write(name)
    }
  }

  /** The member can be found again. */
  provide(name: string): void {
    this.#change(name, (member) => {
      member.isProvided = true
    })
  }

  /** The member can be found no more. */
  withdraw(name: string): void {
    this.#change(name, (member) => {
      member.isProvided = false
    })
  }

  /** Other credentials take the place of those that are there. */
  rotate(name: string): void {
    this.#change(name, (member) => {
      member.isSpoilt = false
      this.#renew(name, member)
    })
  }

  /** A person writes what is no certificate, or no kubeconfig, of the member. */
  spoil(name: string): void {
    this.#change(name, (member) => {
      member.isSpoilt = true
    })
  }

  /** Whether the files of kubeconfigs can be read. */
  get areFilesWell(): boolean {
    return !this.#isFileSpoilt
  }

  /** The file of contexts becomes unreadable, and so does the directory, until they are mended. */
  spoilFile(): void {
    this.#isFileSpoilt = true
  }

  mendFiles(): void {
    this.#isFileSpoilt = false
  }

  /** The files as the primary's pod has them. */
  readonly reader: FileReader = {
    readText: (path) =>
      Effect.sync(() =>
        path === contextsFile ? Result.succeed(this.#contexts()) : Result.fail("no such file in this world")
      ),
    readTexts: () =>
      Effect.sync(() =>
        this.#isFileSpoilt
          ? Result.fail("it cannot be read (EIO)")
          : Result.succeed(new Map([...this.#files].map(([name, text]) => [name, Result.succeed(text)])))
      )
  }

  #contexts(): string {
    const names = [...this.#members].flatMap(([name, { isProvided, plan }]) =>
      isProvided && providerOf(plan) === "kubeconfigFile" ? [name] : []
    )
    return this.#isFileSpoilt ? "\t{" : this.#kubeconfig(names)
  }

  #change(name: string, change: (member: Member) => void): void {
    const member = this.#members.get(name)
    if (member === undefined) return
    change(member)
    this.#write(name)
  }

  #keepFresh(name: string, member: Member): void {
    const { after } = this.#options
    const lifetime = this.#renew(name, member)
    this.#write(name)
    after(lifetime * replacedAt, () => this.#keepFresh(name, member))
  }

  /** Takes other credentials; the result is how long they live, ms. */
  #renew(name: string, member: Member): number {
    const { plan, tokens } = member
    if (isMade(plan)) return Infinity
    if (plan._tag === "Kubeconfig" && plan.auth === "token") {
      member.credentials = { token: tokens.next() }
      return tokens.lifetime
    }
    const { certificatePem, keyPem } = tokens.certify(name)
    const [certificate, key] =
      plan._tag === "Kubeconfig" ? ["client-certificate-data", "client-key-data"] : ["tls.crt", "tls.key"]
    member.credentials = {
      [certificate ?? ""]: encodeBase64Text(certificatePem),
      [key ?? ""]: encodeBase64Text(keyPem)
    }
    return tokens.lifetime
  }

  #kubeconfig(names: ReadonlyArray<string>): string {
    return JSON.stringify({
      "current-context": names[0] ?? "",
      contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
      clusters: names.map((name) => ({ name, cluster: { server: `https://${name}` } })),
      users: names.map((name) => {
        const known = this.#members.get(name)
        return { name, user: known?.isSpoilt === true ? { username: "nobody" } : (known?.credentials ?? {}) }
      })
    })
  }

  #write(name: string): void {
    const member = this.#members.get(name)
    if (member === undefined) return
    switch (member.plan._tag) {
      case "Configured":
        if (!isMade(member.plan)) this.#writePair(name, member)
        return
      case "Profile": {
        const cluster = { server: `https://${name}` }
        const status = { accessProviders: [{ name: pluginName, cluster }] }
        return this.#put(member, { ref: clusterProfiles, namespace: clustersNamespace }, name, { status })
      }
      case "Kubeconfig":
        return this.#writeKubeconfig(name, member, member.plan.provider)
    }
  }

  #writePair(name: string, { credentials, isSpoilt }: Member): void {
    const data = isSpoilt ? { ...credentials, "tls.crt": encodeBase64Text("no certificate") } : credentials
    const labels = { [credentialsLabel]: "true" }
    const secret = credentialsSecretName(clusterName(name), sha256Hex)
    const { namespace, now, objects } = this.#options
    objects.write(secrets, secret, { metadata: { labels }, data }, { namespace, now: now() })
  }

  #writeKubeconfig(
    name: string,
    member: Member,
    provider: Extract<MemberPlan, { readonly _tag: "Kubeconfig" }>["provider"]
  ): void {
    const text = this.#kubeconfig([name])
    switch (provider) {
      case "kubeconfigSecrets": {
        const labels = { [kubeconfigLabel]: "true" }
        const data = { [kubeconfigKey]: encodeBase64Text(text) }
        const { namespace } = this.#options
        return this.#put(member, { ref: secrets, namespace }, name, { metadata: { labels }, data })
      }
      case "clusterApi": {
        const status = { initialization: { controlPlaneInitialized: true } }
        const namespace = clustersNamespace
        this.#put(member, { ref: clusterApiClusters("v1beta2"), namespace }, name, { status })
        const data = { [clusterApiKey]: encodeBase64Text(text) }
        return this.#put(member, { ref: secrets, namespace }, clusterApiSecret(name), { data })
      }
      case "kubeconfigFile":
        // The text is made when it is read.
        return
      case "kubeconfigDirectory":
        if (member.isProvided) this.#files.set(name, text)
        else this.#files.delete(name)
    }
  }

  #put({ isProvided }: Member, { namespace, ref }: Shelf, name: string, content: object): void {
    const { now, objects } = this.#options
    if (isProvided) objects.write(ref, name, content, { namespace, now: now() })
    else objects.erase(ref, name, namespace)
  }
}
