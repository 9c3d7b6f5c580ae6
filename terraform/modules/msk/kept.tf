# The log is the only source of truth. A plan that would destroy the cluster, or replace it, ends with an error.
# To take an instance down, make terraform forget this first (terraform/README.md): nothing else does.

resource "terraform_data" "kept" {
  count = var.destroy_with_data ? 0 : 1

  triggers_replace = [aws_msk_cluster.this.arn]

  lifecycle {
    prevent_destroy = true
  }
}
