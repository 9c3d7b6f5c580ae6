"""Every DAG runs in a real Airflow on real servers. The tests kill its tasks and answer its approvals."""
