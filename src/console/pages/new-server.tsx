import { Alert, Button, Group, Stack, Stepper, Text } from '@mantine/core';
import { useState, type FormEvent } from 'react';
import { Link, useNavigate } from 'react-router';
import { useAct } from '../parts/acts.tsx';
import { Page } from '../parts/page.tsx';
import { ConnectorsPicker, UserPicker } from '../parts/pickers.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { ExpiryInput } from '../server/access.tsx';
import { formOf, restrictionsOf, type RestrictionForm } from '../server/restriction-form.ts';
import { EffectFields } from '../server/rules.tsx';
import { NameFields, NEW_SETTINGS, ToolFields } from '../server/settings-fields.tsx';

const STEPS = ['Purpose', 'Rights', 'Access'];
const LAST = STEPS.length - 1;

/** Makes a server in three steps, and goes to its page. */
export function NewServer() {
  const [step, setStep] = useState(0);
  const [settings, setSettings] = useState(NEW_SETTINGS);
  const [rules, setRules] = useState<RestrictionForm>(formOf({ confirm: ['destructive'] }));
  const [owner, setOwner] = useState('');
  const [days, setDays] = useState<number | string>('');
  const mayWrite = useScope('servers:write');
  const goTo = useNavigate();
  const create = useAct(async () => {
    const made = await rest('POST', '/api/servers', {
      userId: owner || undefined,
      body: {
        ...settings,
        name: settings.name.trim(),
        restrictions: restrictionsOf(rules),
        ...(days === '' ? {} : { tokenExpiresInDays: Number(days) }),
      },
    });
    await goTo(`/servers/${made.serverId}`);
  }, 'The server is created. Show its access URL and add it to a client.');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (step < LAST) return setStep(step + 1);
    create.mutate();
  };
  const chosen = rules.connectors.entries;

  return (
    <Page title="New server" lead="A name, what agents may do, and whose accounts they use.">
      {!mayWrite && <MayNot />}
      <form className="card" onSubmit={submit} style={{ maxWidth: 720 }}>
        <Stack gap="lg" p="md">
          <Steps step={step} setStep={setStep} />
          {step === 0 && (
            <NameFields
              settings={settings}
              onChange={(changes) => setSettings({ ...settings, ...changes })}
            />
          )}
          {step === 1 && (
            <>
              <ConnectorsPicker
                label="Apps"
                description="Only these can be used. Leave it empty to allow all, and choose single actions later."
                value={chosen}
                onChange={(entries) =>
                  setRules({
                    ...rules,
                    connectors: { mode: entries.length > 0 ? 'allowlist' : 'off', entries },
                  })
                }
              />
              <EffectFields form={rules} onChange={(changes) => setRules({ ...rules, ...changes })} />
              <ToolFields
                settings={settings}
                onChange={(changes) => setSettings({ ...settings, ...changes })}
              />
            </>
          )}
          {step === LAST && (
            <>
              <OwnerAndExpiry owner={owner} setOwner={setOwner} days={days} setDays={setDays} />
              <Text size="sm">
                Agents of <strong>{settings.name}</strong> can use{' '}
                {chosen.length === 0 ? 'all apps' : chosen.join(', ')}, with the effects{' '}
                {rules.effects.join(', ') || 'none'}.
              </Text>
            </>
          )}
          {create.error && <ErrorNotice error={create.error} title="The server was not created" />}
          <Group justify="space-between">
            {step === 0 ? (
              <Button component={Link} to="/servers" variant="default">
                Cancel
              </Button>
            ) : (
              <Button variant="default" onClick={() => setStep(step - 1)}>
                Back
              </Button>
            )}
            <Button
              type="submit"
              loading={create.isPending}
              disabled={settings.name.trim() === '' || !mayWrite}
            >
              {step < LAST ? 'Next' : 'Create the server'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}

function MayNot() {
  return (
    <Alert variant="light" color="orange" title="This key may not create servers">
      Sign in with a key that has the scope <span className="mono">servers:write</span>.
    </Alert>
  );
}

interface OwnerProps {
  owner: string;
  setOwner: (userId: string) => void;
  days: number | string;
  setDays: (days: number | string) => void;
}

function OwnerAndExpiry({ owner, setOwner, days, setDays }: OwnerProps) {
  return (
    <>
      <UserPicker
        label="Owner"
        description="Calls over the access URL use the accounts of this user. Without an owner, they reach only apps that need no account."
        placeholder="No owner"
        value={owner}
        onChange={setOwner}
      />
      <ExpiryInput value={days} onChange={setDays} />
    </>
  );
}

function Steps({ step, setStep }: { step: number; setStep: (step: number) => void }) {
  return (
    <>
      <Text size="sm" fw={600} hiddenFrom="xs">
        Step {step + 1} of {STEPS.length}: {STEPS[step]}
      </Text>
      <Stepper
        active={step}
        onStepClick={(to) => to < step && setStep(to)}
        size="xs"
        wrap={false}
        visibleFrom="xs"
      >
        {STEPS.map((label) => (
          <Stepper.Step key={label} label={label} />
        ))}
      </Stepper>
    </>
  );
}
