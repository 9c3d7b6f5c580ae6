"""Every DAG run by a real Airflow, on real servers: killed in its tasks, asked, answered, and looked at."""
