/** The settings of the election of the leader. */

import type { SettingCard } from "../catalogue/setting.ts"
import { defaultLeaseTimes } from "./lease-times.ts"

export const leadershipSettings = {
  podName: {
    variable: "OPERATOR_POD_NAME",
    form: "text",
    about:
      "name of the operator's own pod; with `OPERATOR_POD_UID` or not at all. Without them **no leader is elected**, " +
      "and no second operator may run for the cluster"
  },
  podUid: { variable: "OPERATOR_POD_UID", form: "text", about: "UID of that pod" },
  leaseDuration: {
    variable: "OPERATOR_LEASE_DURATION_SECS",
    form: "leaseTime",
    default: defaultLeaseTimes.leaseDuration,
    cure: "leave it out for 15",
    about: "others leave a leader alone for so long after they last saw it renew"
  },
  renewDeadline: {
    variable: "OPERATOR_LEASE_RENEW_DEADLINE_SECS",
    form: "leaseTime",
    default: defaultLeaseTimes.renewDeadline,
    cure: "leave it out for 10",
    about: "a leader that could not renew for so long writes nothing more; less than the duration"
  },
  retryPeriod: {
    variable: "OPERATOR_LEASE_RETRY_PERIOD_SECS",
    form: "leaseTime",
    default: defaultLeaseTimes.retryPeriod,
    cure: "leave it out for 2",
    about: "between two attempts; 1.2 times this is less than the deadline"
  }
} as const satisfies SettingCard
