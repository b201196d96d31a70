import { Button } from '@mantine/core';
import { IconMapOff } from '@tabler/icons-react';
import { Link } from 'react-router';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';

/** Shown for an address without a page. */
export function NotFound() {
  return (
    <Page title="Page not found">
      <div className="card">
        <Empty
          title="There is no page at this address"
          icon={<IconMapOff aria-hidden />}
          action={
            <Button component={Link} to="/" variant="default">
              Go to the start page
            </Button>
          }
        >
          The thing may have been deleted, or the address was not copied whole.
        </Empty>
      </div>
    </Page>
  );
}
