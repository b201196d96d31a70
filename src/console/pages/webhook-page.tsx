import { Alert, Anchor, Button } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import type { SubscriptionRecord } from '../api-types.ts';
import { ConfirmButton, SecretDialog, useSecret } from '../parts/acts.tsx';
import { Deliveries } from '../parts/deliveries.tsx';
import { Page, Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { TimeInput } from '../parts/time-input.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { UserName } from '../parts/user-name.tsx';
import { Id, Moment, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { deliveriesInWords } from './webhook-list.tsx';

const EVERY_MS = 5000;
const DAY_MS = 86_400_000;

/** One subscription: its state, and what was delivered. */
export function WebhookPage() {
  const { subscriptionId = '' } = useParams();
  const mayWrite = useScope('webhooks:write');
  const [secret, show, hide] = useSecret();
  const found = useRest('/webhooks/{subscriptionId}', {
    path: { subscriptionId },
    topics: ['accounts'],
    everyMs: EVERY_MS,
  });
  const back = (
    <Button
      component={Link}
      to="/webhooks"
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      All webhooks
    </Button>
  );
  if (!found.data)
    return (
      <Page title="Webhook" actions={back}>
        {found.isError ? <ErrorNotice error={found.error} again={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  const one = found.data;
  return (
    <Page
      title={one.address}
      lead={
        <>
          <State value={one.status} /> {one.events.join(', ')} of <span className="mono">{one.scope}</span>
        </>
      }
      actions={back}
    >
      <Warnings one={one} />
      <Section title="Deliveries">
        <Deliveries subscriptionId={subscriptionId} mayReplay={mayWrite && one.status === 'active'} />
      </Section>
      <Section title="Facts">
        <Facts one={one} />
      </Section>
      {mayWrite && (
        <Section title="Acts">
          <Acts one={one} show={show} />
        </Section>
      )}
      <SecretDialog secret={secret} close={hide} title="Copy the signing secret">
        Deliveries carry both signatures for 24 hours.
      </SecretDialog>
    </Page>
  );
}

function Warnings({ one }: { one: SubscriptionRecord }) {
  return (
    <>
      {one.status === 'disabled' && (
        <Alert variant="light" color="red" title="It is disabled and collects no events">
          {one.reason ?? 'An operator disabled it.'} Repair the receiver, enable the subscription again, and
          recover what was missed.
        </Alert>
      )}
      {one.status === 'active' && one.reason && (
        <Alert variant="light" color="orange" title="The backfill is incomplete">
          {one.reason}
        </Alert>
      )}
      {one.status === 'active' && one.failingSince && (
        <Alert variant="light" color="orange" title="The receiver fails">
          Every attempt failed since <Moment at={one.failingSince} />. After 120 hours of failures alone it is
          disabled.
        </Alert>
      )}
      {one.deadDeliveries > 0 && (
        <Alert
          variant="light"
          color="red"
          title={`${deliveriesInWords(one.deadDeliveries)} did not arrive, after every attempt`}
        >
          The attempts below show what the receiver answered. When it works again, replay a delivery, or
          recover all since a time.
        </Alert>
      )}
      {one.sourceReason && (
        <Alert variant="light" color="orange" title="The app does not answer, so events may be missing">
          {one.sourceReason}
        </Alert>
      )}
    </>
  );
}

function Facts({ one }: { one: SubscriptionRecord }) {
  return (
    <dl className="facts">
      <dt>Subscription</dt>
      <dd>
        <Id value={one.subscriptionId} />
      </dd>
      <dt>Connector</dt>
      <dd>{one.connectorId ?? 'none: events of the environment'}</dd>
      <dt>Account</dt>
      <dd>{one.connectionId ? <Id value={one.connectionId} /> : 'none'}</dd>
      <dt>User</dt>
      <dd>{one.userId ? <UserName userId={one.userId} /> : 'none'}</dd>
      <dt>Events come by</dt>
      <dd>
        {one.source === 'native'
          ? 'webhooks of the app'
          : one.source === 'polling'
            ? 'polls of the app'
            : '–'}
      </dd>
      <dt>Order</dt>
      <dd>{one.ordered ? 'one at a time, in order' : 'as fast as possible'}</dd>
      <dt>Limit</dt>
      <dd>{one.ratePerSecond === null ? 'none' : `${one.ratePerSecond} in a second`}</dd>
      <dt>Headers</dt>
      <dd>{one.headers.length === 0 ? 'none' : one.headers.join(', ')}</dd>
      <dt>Backfill</dt>
      <dd>{one.backfill}</dd>
      <dt>Created</dt>
      <dd>
        <When at={one.createdAt} />
      </dd>
      <dt>Changes</dt>
      <dd>
        <Anchor component={Link} to={`/audit?target=${one.subscriptionId}`} size="sm">
          Who changed it
        </Anchor>
      </dd>
    </dl>
  );
}

interface ActsProps {
  one: SubscriptionRecord;
  show: (secret: string) => void;
}

function Acts({ one, show }: ActsProps) {
  const navigate = useNavigate();
  const isActive = one.status === 'active';
  const path = { subscriptionId: one.subscriptionId };
  return (
    <div className="acts">
      {!isActive && (
        <ConfirmButton
          variant="filled"
          label="Enable again"
          title="Enable the subscription again?"
          run={() => rest('POST', '/webhooks/{subscriptionId}/enable', { path })}
        >
          It delivers the events from now on. Recover delivers those that it missed.
        </ConfirmButton>
      )}
      {isActive && (
        <ConfirmButton
          label="Send a test event"
          title="Send a test event?"
          run={() => rest('POST', '/webhooks/{subscriptionId}/test', { path })}
        >
          The receiver gets a signed event with <span className="mono">x-svc-test: true</span>.
        </ConfirmButton>
      )}
      {isActive && (
        <Recover
          recover={(since) => rest('POST', '/webhooks/{subscriptionId}/recover', { path, body: { since } })}
        />
      )}
      <ConfirmButton
        label="Rotate the secret"
        title="Rotate the signing secret?"
        run={async () =>
          show((await rest('POST', '/webhooks/{subscriptionId}/rotate-secret', { path })).secret)
        }
      >
        The new secret is shown once. Deliveries carry both signatures for 24 hours, so that the receiver has
        time to switch.
      </ConfirmButton>
      <ConfirmButton
        dangerous
        label="Delete"
        title="Delete the subscription?"
        run={async () => {
          await rest('DELETE', '/webhooks/{subscriptionId}', { path });
          await navigate('/webhooks');
        }}
      >
        The address <strong>{one.address}</strong> gets no more events. Waiting deliveries are cancelled, and
        the log of deliveries is deleted. This cannot be undone.
      </ConfirmButton>
    </div>
  );
}

function Recover({ recover }: { recover: (since: string) => Promise<unknown> }) {
  const [since, setSince] = useState(() => new Date(Date.now() - DAY_MS).toISOString());
  return (
    <ConfirmButton label="Recover" title="Recover missed deliveries?" run={() => recover(since)}>
      Deliveries that were given up or cancelled since this time start again. Events that came while the
      subscription was disabled are delivered now.
      <TimeInput label="Since" description="Events are kept for 30 days." value={since} change={setSince} />
    </ConfirmButton>
  );
}
