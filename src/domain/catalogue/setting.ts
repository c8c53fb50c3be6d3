/**
 * The form of the cards of settings: a setting is a variable of the operator's environment, what it may hold, and the
 * chart's value from which it is set. Each room of the domain that has settings declares them in its `settings.ts`. The
 * operator reads its environment by these cards; the chart's rules, its variables and docs/reference/settings.md are
 * made from them.
 *
 * Not here: the list of all cards, and reading them (app/kernel/setting-values.ts).
 */

import type * as Redacted from "effect/Redacted"

/** The texts that a variable may hold, in a way that Helm's templates can check as well. */
export interface Form {
  /** Each text, or each part between `separator`, matches this; a syntax that Helm's regular expressions have too. */
  readonly pattern?: RegExp
  /** Each text, or each part, is one of these. */
  readonly words?: ReadonlyArray<string>
  readonly separator?: ","
  /** Max characters of the text, or of each part. */
  readonly maxLength?: number
  /** Max number; the number is found by `number`, else it is the whole text. */
  readonly max?: number
  readonly number?: RegExp
  /** The rest of the sentence "it must be …". */
  readonly must: string
  /** The rest of a sentence after "; ": what to do. */
  readonly cure: string
}

const objectName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u
const namespace = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u
/** More than three days in ms, ten years in s. */
const maxDuration = 315_360_000

const whole = (unit: string, max: number, cure: string): Form => ({
  pattern: /^[1-9][0-9]{0,8}$/u,
  max,
  must: `a whole number${unit} from 1 to ${max}`,
  cure
})

/** The forms of checked variables. A number has digits alone, so that the chart can check it: no `1e3`, no `NaN`. */
export const forms = {
  truth: {
    words: ["true", "yes", "on", "1", "y", "false", "no", "off", "0", "n"],
    must: "true or false",
    cure: "write true or false"
  },
  address: {
    pattern: /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+):[0-9]{1,5}$/u,
    number: /[0-9]{1,5}$/u,
    max: 65_535,
    must: "an address and a port",
    cure: "write for example [::]:443 or 0.0.0.0:443"
  },
  cellAddress: {
    pattern:
      /^((\[[0-9a-fA-F:.]+\]|[^:[\]\s/]+):([0-9]{1,4}|[0-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])|[wW][sS][sS]?:\/\/([0-9A-Za-z_.-]+|\[[0-9A-Fa-f:.]+\])(:([0-9]{1,4}|[0-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(\/[!-~]*)?)$/u,
    must: "a host and a port, or the URL of a WebSocket",
    cure: "write for example cell.example.com:8443, or wss://cell.example.com/tunnels"
  },
  port: { ...whole("", 65_535, "write for example 61337, or leave it out"), must: "a port from 1 to 65535" },
  /** More protects nothing. */
  bound: whole("", 10_000, "write for example 100, or leave it out"),
  /** A lease of more than a day is a mistake. The value is in ms, the text in s. */
  leaseTime: whole(" of seconds", 86_400, "leave it out"),
  /** The life of a certificate for a tunnel: an authority is exchanged within two of them. */
  certificateHours: whole(" of hours", 72, "write for example 24, or leave it out"),
  seconds: whole(" of seconds", maxDuration, "write for example 28800, or leave it out"),
  millis: whole(" of milliseconds", maxDuration, "write for example 120000, or leave it out"),
  days: whole(" of days", 36_500, "write for example 365, or leave it out"),
  mebibytes: whole(" of mebibytes", 1_000_000, "write for example 900, or leave it out"),
  objectName: { pattern: objectName, maxLength: 253, must: "the name of an object", cure: "write its name" },
  objectNames: {
    pattern: objectName,
    maxLength: 253,
    separator: ",",
    must: "names of objects",
    cure: "separate them by commas"
  },
  namespace: {
    pattern: namespace,
    must: "the name of a namespace",
    cure: "write its name, or leave it out for the operator's"
  },
  namespaces: {
    pattern: namespace,
    separator: ",",
    must: "names of namespaces, separated by commas without blanks",
    cure: "write for example kube-system"
  },
  /** IPv4, then IPv6 with all groups, and with a `::` at each place. */
  ranges: {
    pattern:
      /^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\.(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}\/(3[0-2]|[12]?[0-9])|(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}(:[0-9a-fA-F]{1,4}){1,1}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|([0-9a-fA-F]{1,4}:){1,1}(:[0-9a-fA-F]{1,4}){1,6}|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$/u,
    separator: ",",
    must: "networks in CIDR form",
    cure: "write for example 10.0.0.0/8 and fd00::/8"
  },
  /** Names of groups as tokens have them; a name with a comma cannot be given. */
  groups: {
    pattern: /^[^,\s\p{Cc}]([^,\p{Cc}]*[^,\s\p{Cc}])?$/u,
    maxLength: 253,
    separator: ",",
    must: "names of groups, separated by commas without blanks",
    cure: "write for example developers"
  },
  /** As an API server's `--oidc-username-prefix`. */
  userPrefix: {
    pattern: /^(-|[0-9A-Za-z]([0-9A-Za-z._-]{0,61})[:/#])$/u,
    must: "letters and digits with a colon behind them, or -",
    cure: "write for example primary:, or - for names without a prefix"
  },
  extraKeys: {
    pattern: /^[0-9a-z]([0-9a-z._/-]*[0-9a-z])?$/u,
    maxLength: 253,
    separator: ",",
    must: "keys of extras in lower case, separated by commas without blanks",
    cure: "write for example example.com/team"
  },
  hostName: {
    pattern: objectName,
    maxLength: 253,
    must: "the name of a host in lower case, without a port",
    cure: "write for example mirrord.example.com"
  },
  /** An issuer has neither query nor fragment (OpenID Connect Core, section 2). */
  issuer: {
    pattern: /^https:\/\/[0-9A-Za-z_.-]+(:[0-9]{1,5})?(\/[0-9A-Za-z._~!$&'()*+,;=:@%/-]*)?$/u,
    must: "an https URL",
    cure: "write for example https://login.example.com"
  },
  /** As a scope of OAuth has it (RFC 6749, section 3.3), without commas. */
  scopes: {
    pattern: /^[!#-+\--[\]-~]+$/u,
    maxLength: 253,
    separator: ",",
    must: "scopes, separated by commas without blanks",
    cure: "write for example openid,email,groups"
  },
  emails: {
    pattern: /^[^,@\s\p{Cc}]+@[^,@\s\p{Cc}]+$/u,
    maxLength: 253,
    separator: ",",
    must: "e-mail addresses, separated by commas without blanks",
    cure: "write for example jane@example.com"
  },
  /** Without a user: passwords belong into headers. */
  collector: {
    pattern:
      /^[hH][tT][tT][pP][sS]?:\/\/([0-9A-Za-z_.-]+|\[[0-9A-Fa-f:.]+\])(:([0-9]{1,4}|[0-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(\/[!-~]*)?$/u,
    must: "an http or https URL without a user",
    cure: "write for example http://collector:4318"
  }
} as const satisfies Readonly<Record<string, Form>>

type CheckedForm = keyof typeof forms

/**
 * The value of a setting, by its form. `words` are some of the setting's `words`; `text`, `path` and `secret` are not
 * checked.
 */
interface Values extends Readonly<Record<CheckedForm, unknown>> {
  readonly truth: boolean
  readonly address: string
  readonly cellAddress: string
  readonly port: number
  readonly bound: number
  readonly leaseTime: number
  readonly certificateHours: number
  readonly seconds: number
  readonly millis: number
  readonly days: number
  readonly mebibytes: number
  readonly objectName: string
  readonly objectNames: ReadonlyArray<string>
  readonly namespace: string
  readonly namespaces: ReadonlyArray<string>
  readonly ranges: ReadonlyArray<string>
  readonly groups: ReadonlyArray<string>
  readonly userPrefix: string
  readonly extraKeys: ReadonlyArray<string>
  readonly hostName: string
  readonly issuer: string
  readonly scopes: ReadonlyArray<string>
  readonly emails: ReadonlyArray<string>
  readonly collector: string
  readonly words: ReadonlyArray<string>
  /** A JSON object of variables. */
  readonly variables: Readonly<Record<string, string>>
  readonly text: string
  readonly path: string
  readonly secret: Redacted.Redacted
}

/**
 * Installations in which values of the chart act: primaries, other clusters, to which users connect directly, members,
 * clusters with agents or with targets, those with the databases of sessions, those that split queues, primaries that
 * take tunnels and members that dial them, those with a page of use. `charts/mirrord-operator/files/roles.yaml` has the
 * sentence for each.
 */
type SettingRole =
  | "primary"
  | "direct"
  | "member"
  | "agents"
  | "targets"
  | "databases"
  | "splits"
  | "cell"
  | "outpost"
  | "dashboard"

interface SettingOf<F extends keyof Values> {
  readonly variable: string
  readonly form: F
  /** The value of an operator whose environment does not have the variable; in ms for `leaseTime`. */
  readonly default?: Values[F]
  /** The default in words, where the operator chooses it. */
  readonly defaultText?: string
  /** Of the form `words`: the words that there are. */
  readonly words?: ReadonlyArray<string>
  /** The variable's effect, in Markdown; links are relative to docs/reference. */
  readonly about: string
  /** The path of the chart's value from which the variable is set. */
  readonly value?: string
  /** The installations in which it acts; all if missing. Others than primaries do not have variables of `primary`. */
  readonly where?: SettingRole
  /** 0 as the chart's value means that the variable is not set. */
  readonly isUnsetBy0?: boolean
  /** The cure of a wrong text, where the form's own words do not fit. */
  readonly cure?: string
  /** The rest of "it must be …", where the form's own words do not fit. */
  readonly must?: string
}

/** A setting of any form. */
export type Setting = { readonly [F in keyof Values]: SettingOf<F> }[keyof Values]

/** The settings of one room, by the names that the program has for them. */
export type SettingCard = Readonly<Record<string, Setting>>

/** The value of a setting; `undefined` if the variable is not set and has no default. */
export type ValueOf<S extends Setting> = S extends { readonly default: unknown }
  ? Values[S["form"]]
  : Values[S["form"]] | undefined

export type ValuesOf<Card extends SettingCard> = { readonly [K in keyof Card]: ValueOf<Card[K]> }

/** The rule for a variable's text; `undefined` if every text is good, or if more than a rule is needed to judge it. */
export const formOf = (setting: Setting): Form | undefined => {
  const own = {
    ...(setting.must === undefined ? {} : { must: setting.must }),
    ...(setting.cure === undefined ? {} : { cure: setting.cure })
  }
  if (setting.form === "words") {
    const words = setting.words ?? []
    return {
      words,
      separator: ",",
      must: `names out of ${words.join(", ")}, separated by commas without blanks`,
      cure: `write some of ${words.join(", ")}`,
      ...own
    }
  }
  const form = Object.entries<Form>(forms).find(([name]) => name === setting.form)?.[1]
  return form === undefined ? undefined : { ...form, ...own }
}

/** Whether a text has a form. */
export const hasForm = ({ max, maxLength, number, pattern, separator, words }: Form, text: string): boolean => {
  const isGood = (part: string): boolean =>
    (pattern?.test(part) ?? true) && (words?.includes(part) ?? true) && part.length <= (maxLength ?? part.length)
  const parts = separator === undefined ? [text] : text.split(separator)
  if (!parts.every(isGood)) return false
  const digits = number === undefined ? text : (number.exec(text)?.[0] ?? "")
  return max === undefined || Number(digits) <= max
}
