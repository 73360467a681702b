/** What a step has found out, having looked and changed nothing. */
export type Plan =
  /** Everything is as it should be. */
  | { readonly kind: "nothing"; readonly why: string }
  /** `what`: what `apply` will do, in the imperative. */
  | { readonly kind: "do"; readonly what: string; readonly apply: () => void | Promise<void> }
  /** The administrator's own stays; `apply` may lay something beside it. */
  | {
      readonly kind: "keep";
      readonly why: string;
      readonly advice: string;
      readonly apply?: () => void | Promise<void>;
    }
  /** Nothing at all is done while one step refuses. */
  | { readonly kind: "refuse"; readonly why: string; readonly fix: string };

/** One thing that an installation does. */
export interface Step {
  /** What it is about: a path on the host, or a command line. */
  readonly subject: string;
  /** `before`: subjects of the steps in front of it that will do something. */
  plan(before: ReadonlySet<string>): Plan | Promise<Plan>;
}

export interface PlannedStep {
  readonly subject: string;
  readonly plan: Plan;
}

/** Looks at everything, in order; changes nothing. */
export async function planSteps(steps: readonly Step[]): Promise<readonly PlannedStep[]> {
  const planned: PlannedStep[] = [];
  const before = new Set<string>();
  for (const step of steps) {
    const plan = await step.plan(before);
    if (plan.kind === "do") before.add(step.subject);
    planned.push({ subject: step.subject, plan });
  }
  return planned;
}

/** True when applying the plans would change something. */
export function changesSomething(planned: readonly PlannedStep[]): boolean {
  return planned.some(({ plan }) => plan.kind === "do" || (plan.kind === "keep" && plan.apply !== undefined));
}

/** A step that failed half-way: which one, and why. What was done before it stays done; a second run goes on. */
export class StepError extends Error {
  constructor(subject: string, cause: unknown) {
    super(`${subject}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = "StepError";
  }
}

/** Does what was planned, in order. `tell` hears of each step when it is done. Throws StepError. */
export async function applySteps(
  planned: readonly PlannedStep[],
  tell: (step: PlannedStep) => void,
): Promise<void> {
  for (const step of planned) {
    const { plan, subject } = step;
    if (plan.kind === "refuse") throw new StepError(subject, new Error(plan.why));
    try {
      if (plan.kind !== "nothing") await plan.apply?.();
    } catch (error) {
      throw new StepError(subject, error);
    }
    tell(step);
  }
}
